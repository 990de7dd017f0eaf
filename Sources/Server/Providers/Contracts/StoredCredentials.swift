/// The tokens that the server keeps for one user; at rest only in sealed form.
public struct StoredCredentials: Equatable, Sendable, Codable {
    public var accessToken: String?
    public var refreshToken: String?
    /// Whether ``accessToken`` is a password or a key, which works until somebody withdraws it.
    public var isLasting: Bool?
    /// Where the storage is and in whose name it is used, for account types whose people name their server; in the form
    /// of the adapter, which alone reads it.
    public var location: String?
    /// SHA-256, in hexadecimal digits, of the authorization code, or the presented token, that these tokens came from.
    public var codeHash: String?
    /// The hashes of what earlier tokens came from, the latest last, at most ``maximumFormerCodes``: phones present theirs
    /// again and again, and a person may have several.
    public private(set) var formerCodeHashes: [String]?
    /// Apple: what is remembered of identity tokens.
    public var identity: IdentityRecord?
    /// WebDAV: that the server refuses ``accessToken``.
    public var refusal: CredentialRefusal?
    /// WebDAV: the digests of passwords that have proved who the person is (``PasswordClaim/digest``), the latest last, at most
    /// ``maximumFormerCodes``: each of a person's devices may have one of its own.
    public private(set) var provenPasswords: [String]?

    public init(
        accessToken: String? = nil, refreshToken: String? = nil, isLasting: Bool? = nil, location: String? = nil,
        codeHash: String? = nil, identity: IdentityRecord? = nil, refusal: CredentialRefusal? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.isLasting = isLasting
        self.location = location
        self.codeHash = codeHash
        self.identity = identity
        self.refusal = refusal
    }

    /// The token with which the storage is opened; `nil` if there is none, or it is known to be withdrawn.
    public var usableToken: String? { isWithdrawn ? nil : accessToken }

    /// The limit of ``formerCodeHashes``.
    static let maximumFormerCodes = 8

    /// Whether these tokens, or earlier ones, came from a code or token with this hash.
    public func knows(codeHash hash: String) -> Bool { hash == codeHash || formerCodeHashes?.contains(hash) == true }

    /// Whether a password has proved who the person is, and has not been refused since.
    public func isProven(_ digest: String) -> Bool { provenPasswords?.contains(digest) == true }

    /// The same after a password has proved who the person is.
    public func proven(by digest: String) -> StoredCredentials {
        var proven = self
        proven.provenPasswords = [digest]
        return proven
    }

    /// The same after the server has refused a password.
    /// - Parameters:
    ///   - isStored: whether it is the stored one, which rests then.
    ///   - time: in seconds since 1970.
    public func refusing(_ digest: String, isStored: Bool, at time: Int64) -> StoredCredentials {
        var refused = self
        refused.provenPasswords = provenPasswords?.filter { $0 != digest }
        if isStored, refusal == nil { refused.refusal = CredentialRefusal(firstAt: time) }
        return refused
    }

    /// Whether the storage can be used while its owner is away, for longer than an access token lives.
    public var hasOfflineAccess: Bool { refreshToken != nil || isLasting == true }

    private var isWithdrawn: Bool { refusal?.isFinal == true }

    /// Whether these credentials are worth more than newer ones of the same person: a phone's access token, which expires,
    /// replaces neither tokens that can be renewed nor a password.
    public func outlasts(_ newer: StoredCredentials) -> Bool {
        hasOfflineAccess && !newer.hasOfflineAccess && !isWithdrawn
    }

    /// These credentials updated with newer ones: what the newer ones lack is kept, unless it was withdrawn, or belongs to
    /// what a password replaces. A password stays if the newer ones only have a token that expires.
    ///
    /// Google, for one, sends a refresh token only at the first consent.
    public func updated(with newer: StoredCredentials) -> StoredCredentials {
        if isLasting == true, newer.accessToken != nil, outlasts(newer) {
            var kept = self
            kept.remember(newer, after: self)
            return kept
        }
        var updated = StoredCredentials(
            accessToken: newer.accessToken ?? accessToken,
            refreshToken: newer.refreshToken ?? (isWithdrawn || newer.isLasting == true ? nil : refreshToken),
            isLasting: newer.accessToken == nil ? isLasting : newer.isLasting, location: newer.location ?? location,
            identity: newer.identity.map { identity?.updated(with: $0) ?? $0 } ?? identity, refusal: newer.refusal)
        updated.remember(newer, after: self)
        return updated
    }

    /// What is left when all tokens were withdrawn: what they came from, so that it is not tried again.
    public var withoutTokens: StoredCredentials {
        var empty = StoredCredentials(codeHash: codeHash)
        empty.formerCodeHashes = formerCodeHashes
        return empty
    }

    /// Takes over what `earlier` came from and what `newer` came from, which replaces it.
    private mutating func remember(_ newer: StoredCredentials, after earlier: StoredCredentials) {
        let proven = (earlier.provenPasswords ?? []).filter { newer.provenPasswords?.contains($0) != true }
        let passwords = (proven + (newer.provenPasswords ?? [])).suffix(Self.maximumFormerCodes)
        provenPasswords = passwords.isEmpty ? nil : Array(passwords)
        codeHash = newer.codeHash ?? earlier.codeHash
        let former = ((earlier.formerCodeHashes ?? []) + [earlier.codeHash].compactMap(\.self)).filter {
            $0 != codeHash
        }
        formerCodeHashes = former.isEmpty ? nil : former.suffix(Self.maximumFormerCodes)
    }

    /// These credentials, which are stored now, updated with what renewing `old` brought.
    ///
    /// - Returns: `nil` if they stay as they are: they come from a new sign-in, which has another refresh token, or another
    ///   password where there are no refresh tokens, or from a renewal that was faster. With anything else the new tokens
    ///   are merged, so that a refresh token that is issued only once is not lost.
    public func updated(with fresh: StoredCredentials, renewedFrom old: StoredCredentials) -> StoredCredentials? {
        guard refreshToken == old.refreshToken, refreshToken != nil || accessToken == old.accessToken else {
            return nil
        }
        return updated(with: fresh)
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
