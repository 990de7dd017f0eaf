/// The tokens that the server keeps for one user; at rest only in sealed form.
public struct StoredCredentials: Equatable, Sendable, Codable {
    public var accessToken: String?
    public var refreshToken: String?
    /// Where the storage is and in whose name it is used, for account types whose people name their server; in the form
    /// of the adapter, which alone reads it.
    public var location: String?
    /// SHA-256, in hexadecimal digits, of the authorization code, or the presented token, that these tokens came from.
    public var codeHash: String?
    /// Apple: what is remembered of identity tokens.
    public var identity: IdentityRecord?

    public init(
        accessToken: String? = nil, refreshToken: String? = nil, location: String? = nil,
        codeHash: String? = nil, identity: IdentityRecord? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.location = location
        self.codeHash = codeHash
        self.identity = identity
    }

    /// These credentials updated with newer ones: what the newer ones lack is kept.
    ///
    /// Google, for one, sends a refresh token only at the first consent.
    public func updated(with newer: StoredCredentials) -> StoredCredentials {
        StoredCredentials(
            accessToken: newer.accessToken ?? accessToken, refreshToken: newer.refreshToken ?? refreshToken,
            location: newer.location ?? location, codeHash: newer.codeHash ?? codeHash,
            identity: newer.identity.map { identity?.updated(with: $0) ?? $0 } ?? identity)
    }
}

// Never print what is inside.
extension StoredCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
