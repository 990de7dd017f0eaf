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
    /// WebDAV: that the server refuses ``accessToken``.
    public var refusal: CredentialRefusal?

    public init(
        accessToken: String? = nil, refreshToken: String? = nil, location: String? = nil,
        codeHash: String? = nil, identity: IdentityRecord? = nil, refusal: CredentialRefusal? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.location = location
        self.codeHash = codeHash
        self.identity = identity
        self.refusal = refusal
    }

    /// The token with which the storage is opened; `nil` if there is none, or it is known to be withdrawn.
    public var usableToken: String? { refusal?.isFinal == true ? nil : accessToken }

    /// These credentials updated with newer ones: what the newer ones lack is kept.
    ///
    /// Google, for one, sends a refresh token only at the first consent.
    public func updated(with newer: StoredCredentials) -> StoredCredentials {
        StoredCredentials(
            accessToken: newer.accessToken ?? accessToken, refreshToken: newer.refreshToken ?? refreshToken,
            location: newer.location ?? location, codeHash: newer.codeHash ?? codeHash,
            identity: newer.identity.map { identity?.updated(with: $0) ?? $0 } ?? identity, refusal: newer.refusal)
    }
}

/// That a server refuses credentials, where nothing but repeated refusal shows that they were withdrawn.
public struct CredentialRefusal: Equatable, Sendable, Codable {
    /// When it was noticed first, in seconds since 1970, by the clock of the database.
    public var firstAt: Int64
    /// Whether they count as withdrawn, and are not tried any more.
    public var isFinal: Bool

    public init(firstAt: Int64, isFinal: Bool = false) {
        self.firstAt = firstAt
        self.isFinal = isFinal
    }
}

// Never print what is inside.
extension StoredCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
