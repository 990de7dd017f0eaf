import FoundationEssentials
import UntrustedInput

/// Reads and writes the JSON bodies of storage providers.
enum ProviderJSON {
    /// - Throws: ``CloudStorageError/unavailable(detail:)``: a provider that sends anything else is not working.
    static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws(CloudStorageError) -> T {
        do {
            return try UntrustedJSON.decode(type, from: bytes)
        } catch {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
    }

    static func encode(_ value: some Encodable) throws(CloudStorageError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(value))
        } catch {
            throw .rejected(code: "cannot encode the request")
        }
    }
}
