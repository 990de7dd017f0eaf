internal import JWTKit

/// Makes a key that signs or checks, by adding it to a collection of jwt-kit's and asking for it again.
///
/// jwt-kit hands out its keys through an actor only; once handed out they are plain functions. This is the one place
/// where its asynchronous interface is entered.
/// - Throws: ``JSONWebTokenError/keyUnusable`` whatever jwt-kit had against the key.
func cryptographicKey(
    _ add: @escaping @Sendable (JWTKeyCollection) async throws -> Void
) throws(JSONWebTokenError) -> any JWTAlgorithm {
    do {
        return try CallingThread.run {
            let keys = JWTKeyCollection()
            try await add(keys)
            return try await keys.getKey()
        }
    } catch {
        throw .keyUnusable
    }
}
