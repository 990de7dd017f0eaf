/// The tokens that the server keeps for one user; sealed whenever they are stored.
public struct StoredCredentials: Equatable, Sendable, Codable {
    public var accessToken: String?
    public var refreshToken: String?
    /// Whether ``accessToken`` is a password or a key, which works until somebody withdraws it.
    public var isLasting: Bool?
    /// The location of the storage and the user name for it, for account types whose users name their server; only the
    /// adapter reads its format.
    public var location: String?
    /// SHA-256, in hexadecimal digits, of the authorization code or the presented token from which these tokens were
    /// obtained.
    public var codeHash: String?
    /// The hashes of the codes and tokens from which earlier tokens were obtained, the latest last, at most
    /// ``maximumFormerCodes``: phones present theirs repeatedly, and a person may have several phones.
    public private(set) var formerCodeHashes: [String]?
    /// Apple: the record of identity tokens.
    public var identity: IdentityRecord?
    /// WebDAV: set if the server rejects ``accessToken``.
    public var refusal: CredentialRefusal?
    /// WebDAV: the digests of passwords that have proved the person's identity (``PasswordClaim/digest``), the latest
    /// last, at most ``maximumFormerCodes``: each of a person's devices may have its own password.
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

    /// The token that opens the storage; `nil` if there is none, or if it is known to be withdrawn.
    public var usableToken: String? { isWithdrawn ? nil : accessToken }

    /// The limit of ``formerCodeHashes``.
    static let maximumFormerCodes = 8

    /// Whether these tokens, or earlier ones, were obtained from a code or token with this hash.
    public func knows(codeHash hash: String) -> Bool { hash == codeHash || formerCodeHashes?.contains(hash) == true }

    /// Whether a password has proved the person's identity and has not been rejected since.
    public func isProven(_ digest: String) -> Bool { provenPasswords?.contains(digest) == true }

    /// These credentials after a password has proved the person's identity.
    public func proven(by digest: String) -> StoredCredentials {
        var proven = self
        proven.provenPasswords = [digest]
        return proven
    }

    /// These credentials after the server has rejected a password.
    /// - Parameters:
    ///   - isStored: whether it is the stored password, which is then not used for a while.
    ///   - time: in seconds since 1970.
    public func refusing(_ digest: String, isStored: Bool, at time: Int64) -> StoredCredentials {
        var refused = self
        refused.provenPasswords = provenPasswords?.filter { $0 != digest }
        if isStored, refusal == nil { refused.refusal = CredentialRefusal(firstAt: time) }
        return refused
    }

    /// Whether the storage can be used while its owner is away, for longer than the lifetime of an access token.
    public var hasOfflineAccess: Bool { refreshToken != nil || isLasting == true }

    private var isWithdrawn: Bool { refusal?.isFinal == true }

    /// Whether these credentials are worth more than newer ones of the same person: a phone's access token, which
    /// expires, replaces neither renewable tokens nor a password.
    public func outlasts(_ newer: StoredCredentials) -> Bool {
        hasOfflineAccess && !newer.hasOfflineAccess && !isWithdrawn
    }

    /// These credentials updated with newer ones: values missing from the newer ones are kept, unless they were
    /// withdrawn or belong to credentials that a password replaces. A password is kept if the newer ones only have a
    /// token that expires.
    ///
    /// Google, for example, sends a refresh token only at the first consent.
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

    /// The remainder after all tokens were withdrawn: the hashes of the codes they came from, so that these are not
    /// tried again.
    public var withoutTokens: StoredCredentials {
        var empty = StoredCredentials(codeHash: codeHash)
        empty.formerCodeHashes = formerCodeHashes
        return empty
    }

    /// Records the origins of `earlier` and of `newer`, which replaces it.
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

    /// These credentials, which are currently stored, updated with the result of renewing `old`.
    ///
    /// - Returns: `nil` if they stay unchanged, because they come from a new sign-in (which has a different refresh
    ///   token, or a different password where there are no refresh tokens) or from a faster renewal. In all other cases
    ///   the new tokens are merged, so that a refresh token that is issued only once is not lost.
    public func updated(with fresh: StoredCredentials, renewedFrom old: StoredCredentials) -> StoredCredentials? {
        guard refreshToken == old.refreshToken, refreshToken != nil || accessToken == old.accessToken else {
            return nil
        }
        return updated(with: fresh)
    }
}

/// Records that a server rejects credentials, for servers where only repeated rejection shows that they were withdrawn.
public struct CredentialRefusal: Equatable, Sendable, Codable {
    /// When it was first noticed, in seconds since 1970, by the database's clock.
    public var firstAt: Int64
    /// Whether the credentials count as withdrawn and are no longer tried.
    public var isFinal: Bool

    public init(firstAt: Int64, isFinal: Bool = false) {
        self.firstAt = firstAt
        self.isFinal = isFinal
    }
}

// Hides the contents.
extension StoredCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
