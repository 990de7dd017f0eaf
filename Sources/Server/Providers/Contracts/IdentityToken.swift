/// What is known of a presented identity token, apart from whose it is.
public struct IdentityToken: Equatable, Sendable {
    /// SHA-256 of the token, in hexadecimal digits.
    public var hash: String
    /// Whether its life is over: then it counts only for an existing user in whose ``IdentityRecord`` it stands.
    public var isExpired: Bool
    /// When it was made, in seconds since 1970.
    public var issuedAt: Int64

    public init(hash: String, isExpired: Bool, issuedAt: Int64) {
        self.hash = hash
        self.isExpired = isExpired
        self.issuedAt = issuedAt
    }
}

/// What is kept, with a user's credentials, of the identity tokens with which they sign in.
///
/// Such a token lives for minutes and a phone cannot renew it without showing the person a dialogue, so one that was seen
/// while it was valid goes on counting.
public struct IdentityRecord: Equatable, Sendable, Codable {
    /// A person has a few devices; beyond this many the oldest token no longer counts.
    public static let maximumTokens = 16

    /// Hashes of the tokens that were seen while they were valid, oldest first.
    public private(set) var tokenHashes: [String]
    /// When the provider last said that the refresh token counts, in seconds since 1970.
    public var confirmedAt: Int64?
    /// Tokens made until then, in seconds since 1970, count no longer: the person had withdrawn their consent.
    public var withdrawnAt: Int64?

    public init(tokenHashes: [String] = [], confirmedAt: Int64? = nil, withdrawnAt: Int64? = nil) {
        self.tokenHashes = Array(tokenHashes.suffix(Self.maximumTokens))
        self.confirmedAt = confirmedAt
        self.withdrawnAt = withdrawnAt
    }

    /// Whether a token that has been verified counts.
    public func admits(_ token: IdentityToken) -> Bool {
        if let withdrawnAt, token.issuedAt <= withdrawnAt { return false }
        return !token.isExpired || tokenHashes.contains(token.hash)
    }

    /// This record with a newer one laid over it.
    func updated(with newer: IdentityRecord) -> IdentityRecord {
        IdentityRecord(
            tokenHashes: tokenHashes.filter { !newer.tokenHashes.contains($0) } + newer.tokenHashes,
            confirmedAt: newer.confirmedAt ?? confirmedAt, withdrawnAt: newer.withdrawnAt ?? withdrawnAt)
    }
}

extension StoredCredentials {
    /// These credentials with a token remembered that is valid now; `nil` if it is remembered already.
    public func remembering(_ token: IdentityToken) -> StoredCredentials? {
        if identity?.tokenHashes.contains(token.hash) == true { return nil }
        return updated(with: StoredCredentials(identity: IdentityRecord(tokenHashes: [token.hash])))
    }
}
