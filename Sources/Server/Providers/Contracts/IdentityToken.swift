/// Properties of a presented identity token, apart from the person's identity.
public struct IdentityToken: Equatable, Sendable {
    /// SHA-256 of the token, in hexadecimal digits.
    public var hash: String
    /// Whether it has expired. An expired token is accepted only for an existing user whose ``IdentityRecord`` contains
    /// it.
    public var isExpired: Bool
    /// When it was issued, in seconds since 1970.
    public var issuedAt: Int64
    /// The client of the app maker for which it was issued.
    public var clientID: String

    public init(hash: String, isExpired: Bool, issuedAt: Int64, clientID: String) {
        self.hash = hash
        self.isExpired = isExpired
        self.issuedAt = issuedAt
        self.clientID = clientID
    }
}

/// The record of the identity tokens with which a user signs in, stored with their credentials.
///
/// Such a token is valid for minutes, and a phone cannot renew it without showing the person a dialogue, so a token
/// that the server saw while it was valid remains accepted.
public struct IdentityRecord: Equatable, Sendable, Codable {
    /// The number of tokens kept, more than a person has devices; beyond it, the oldest is no longer accepted.
    public static let maximumTokens = 16

    /// Hashes of the tokens that the server saw while they were valid, oldest first.
    public private(set) var tokenHashes: [String]
    /// When the provider last confirmed that the refresh token is valid, in seconds since 1970.
    public var confirmedAt: Int64?
    /// Tokens issued until this time, in seconds since 1970, are no longer accepted, because the person had withdrawn
    /// consent.
    public var withdrawnAt: Int64?
    /// The client to which the refresh token was issued, and which alone can use it; `nil` in older records: the main
    /// client.
    public var clientID: String?

    public init(
        tokenHashes: [String] = [], confirmedAt: Int64? = nil, withdrawnAt: Int64? = nil, clientID: String? = nil
    ) {
        self.tokenHashes = Array(tokenHashes.suffix(Self.maximumTokens))
        self.confirmedAt = confirmedAt
        self.withdrawnAt = withdrawnAt
        self.clientID = clientID
    }

    /// Whether a verified token is accepted.
    public func admits(_ token: IdentityToken) -> Bool {
        if let withdrawnAt, token.issuedAt <= withdrawnAt { return false }
        return !token.isExpired || tokenHashes.contains(token.hash)
    }

    /// This record updated with a newer one.
    func updated(with newer: IdentityRecord) -> IdentityRecord {
        IdentityRecord(
            tokenHashes: tokenHashes.filter { !newer.tokenHashes.contains($0) } + newer.tokenHashes,
            confirmedAt: newer.confirmedAt ?? confirmedAt, withdrawnAt: newer.withdrawnAt ?? withdrawnAt,
            clientID: newer.clientID ?? clientID)
    }
}

extension StoredCredentials {
    /// These credentials with a currently valid token added to the record; `nil` if the record already contains it.
    public func remembering(_ token: IdentityToken) -> StoredCredentials? {
        if identity?.tokenHashes.contains(token.hash) == true { return nil }
        return updated(with: StoredCredentials(identity: IdentityRecord(tokenHashes: [token.hash])))
    }
}
