import HTTPTransport
public import Logging
import OpenSSLCrypto
public import Providers
public import Store
public import SyncProtocol

/// Stores users' credentials; the only component of the server that seals and opens them.
///
/// A record that cannot be opened, because its key is lost or it is damaged, counts as absent: its owner signs in
/// again. The record itself is kept aside until a new refresh token arrives, and becomes valid again when its key is
/// restored.
public struct CredentialVault: Sendable {
    /// The stored credentials of one user.
    public struct Kept: Sendable {
        /// `nil` if nothing is stored, or if the record cannot be opened.
        public var credentials: StoredCredentials?
        /// Whether a record exists that cannot be opened.
        public var isUnreadable: Bool
        /// When the person was last found to have withdrawn consent at the provider.
        public var consentWithdrawnAt: WireDate?
        fileprivate var version: Int64

        /// Whether a verified identity token is accepted.
        public func admits(_ token: IdentityToken) -> Bool {
            if let consentWithdrawnAt, token.issuedAt <= consentWithdrawnAt.secondsSince1970 { return false }
            return credentials?.identity?.admits(token) ?? !token.isExpired
        }
    }

    /// The outcome of a change.
    public struct Updated: Sendable {
        /// The credentials stored now; `nil` if nothing is stored, or if the record cannot be opened.
        public let credentials: StoredCredentials?
        /// Whether this change stored it.
        public let isChanged: Bool
    }

    /// How often a change is attempted if concurrent changes keep replacing the record.
    static let maximumAttempts = 5

    private let store: MetadataStore
    private let sealer: CredentialSealer
    private let unreadable: @Sendable () -> Void

    /// - Parameter unreadable: called for each record that cannot be opened, for statistics.
    init(store: MetadataStore, sealer: CredentialSealer, unreadable: @escaping @Sendable () -> Void) {
        self.store = store
        self.sealer = sealer
        self.unreadable = unreadable
    }

    /// The stored credentials of a user; `nil` if the user does not exist.
    /// - Parameter user: the user as read earlier; if they have switched to another account since, its credentials are
    ///   not opened.
    /// - Throws: ``AccountSwitched``, ``StoreError``, `CryptoError.unavailable`.
    public func load(_ user: UserRecord, _ logger: Logger) throws -> Kept? {
        let userID = user.userID
        guard let row = try store.withSession({ try $0.credentialRow(of: userID) }) else { return nil }
        guard row.accountEpoch == user.accountEpoch else { throw AccountSwitched() }
        let present = try row.record.flatMap { try open($0, from: .user(userID), logger) }
        var kept = Kept(
            credentials: present, isUnreadable: row.record != nil && present == nil,
            consentWithdrawnAt: row.consentWithdrawnAt, version: row.version)
        guard present?.hasOfflineAccess != true, let former = row.formerRecord,
            let earlier = try? sealer.open(former, from: .user(userID)), earlier.hasOfflineAccess
        else { return kept }
        kept.credentials = present.map { earlier.updated(with: $0) } ?? earlier
        return kept
    }

    /// Opens a record that is stored elsewhere; if it cannot be opened, writes a log line and returns `nil`. The line
    /// is an error if the record's key is not configured, since the operator must restore it; otherwise a warning.
    /// - Throws: `CryptoError.unavailable`.
    public func open(
        _ record: [UInt8], from place: CredentialSealer.Place, _ logger: Logger
    ) throws -> StoredCredentials? {
        do {
            return try sealer.open(record, from: place)
        } catch CryptoError.unavailable {
            throw CryptoError.unavailable
        } catch {
            unreadable()
            // A decoder's error text could repeat the data that was read.
            let reason = (error as? CryptoError)?.description ?? "The sealed record does not contain credentials."
            let level: Logger.Level = if case CryptoError.unknownKey = error { .error } else { .warning }
            logger.log(
                level: level, "Credentials cannot be opened and are treated as absent",
                metadata: .keyed([.reason: "\(reason)"]))
            return nil
        }
    }

    /// Changes a user's credentials; the only way to do so.
    ///
    /// If another change intervenes, this change is computed again from its result, so that no token from a provider is
    /// lost to a concurrent change.
    /// - Parameter change: receives the stored credentials and returns those to store, or `nil` for no change; called
    ///   up to ``maximumAttempts`` times.
    /// - Parameter user: the user as read earlier; if they have switched to another account since, its credentials are
    ///   not changed.
    /// - Returns: `nil` if the user does not exist.
    /// - Throws: ``AccountSwitched``; ``StoreError``, `.busy` if concurrent changes keep intervening;
    ///   `CryptoError.unavailable`; the errors of `change`.
    @discardableResult
    public func update(
        _ user: UserRecord, _ logger: Logger, _ change: (Kept) throws -> StoredCredentials?
    ) throws -> Updated? {
        for _ in 0..<Self.maximumAttempts {
            guard let kept = try load(user, logger) else { return nil }
            guard let credentials = try change(kept) else {
                return Updated(credentials: kept.credentials, isChanged: false)
            }
            if try replace(kept, by: credentials, of: user.userID) {
                return Updated(credentials: credentials, isChanged: true)
            }
        }
        throw StoreError.busy
    }

    /// Replaces the loaded credentials, unless they have been changed since.
    ///
    /// A withdrawal of consent recorded in them is also recorded outside the sealed record. A new withdrawal discards a
    /// record that was kept aside, as does a new refresh token.
    private func replace(_ kept: Kept, by credentials: StoredCredentials, of userID: UserID) throws -> Bool {
        let withdrawnAt = credentials.identity?.withdrawnAt.map { WireDate(secondsSince1970: $0) }
        let isNewWithdrawal = withdrawnAt.map { $0 > kept.consentWithdrawnAt ?? .earliest } ?? false
        let replaced: NewCredentials.Replaced =
            if credentials.hasOfflineAccess || isNewWithdrawal {
                .obsolete
            } else if kept.isUnreadable {
                .setAside
            } else {
                .forgotten
            }
        let new = NewCredentials(
            try sealer.seal(credentials, for: .user(userID)), hasOfflineAccess: credentials.hasOfflineAccess,
            replaced: replaced, consentWithdrawnAt: isNewWithdrawal ? withdrawnAt : nil)
        return try store.transaction { session in
            try session.storeCredentials(new, of: userID, ifVersion: kept.version)
        }
    }

    /// Stores the credentials of a user whom the same transaction adds.
    /// - Throws: ``StoreError``, `CryptoError.unavailable`.
    public func add(_ credentials: StoredCredentials, of userID: UserID, in session: inout StoreSession) throws {
        let record = try sealer.seal(credentials, for: .user(userID))
        try session.storeCredentials(
            NewCredentials(record, hasOfflineAccess: credentials.hasOfflineAccess), of: userID)
    }

    /// Stores renewed tokens of a removed user whose storage is being cleared.
    /// - Returns: the tokens that are valid from now on.
    /// - Throws: ``StoreError``, `CryptoError.unavailable`.
    func keep(
        _ fresh: StoredCredentials, renewedFrom old: StoredCredentials, ofDeparted userID: UserID, _ logger: Logger
    ) throws -> StoredCredentials {
        try store.transaction { session in
            let present = try session.lockCredentials(ofDeparted: userID)
            let kept = try merged(fresh, renewedFrom: old, into: present, in: .user(userID), logger)
            if let record = kept.record { try session.storeCredentials(record, ofDeparted: userID) }
            return kept.credentials
        }
    }

    /// Merges renewed tokens with the stored ones.
    /// - Parameter present: the sealed record; `nil` if it is no longer needed.
    /// - Returns: the tokens that are valid from now on, and the record to store, `nil` if nothing changes.
    private func merged(
        _ fresh: StoredCredentials, renewedFrom old: StoredCredentials, into present: [UInt8]?,
        in place: CredentialSealer.Place, _ logger: Logger
    ) throws -> (credentials: StoredCredentials, record: [UInt8]?) {
        guard let present else { return (old.updated(with: fresh), nil) }
        let stored = try open(present, from: place, logger) ?? old
        guard let updated = stored.updated(with: fresh, renewedFrom: old) else { return (stored, nil) }
        return (updated, try sealer.seal(updated, for: place))
    }

    /// Seals the state with which a provider continues an upload: it may be an address that is itself an authorization.
    /// - Throws: `CryptoError.unavailable`.
    public func sealed(_ session: String, of upload: UploadUUID) throws -> [UInt8] {
        try sealer.seal(Array(session.utf8), for: .upload(upload))
    }

    /// Opens a record from ``sealed(_:of:)``; `nil` if it cannot be opened, in which case all bytes must be sent again.
    /// - Throws: `CryptoError.unavailable`.
    public func opened(_ record: [UInt8], of upload: UploadUUID) throws -> String? {
        do {
            return String(decoding: try sealer.openBytes(record, from: .upload(upload)), as: UTF8.self)
        } catch CryptoError.unavailable {
            throw CryptoError.unavailable
        } catch {
            unreadable()
            return nil
        }
    }

    /// Seals the credentials for a switch of a user's account, to be stored in the user's row.
    /// - Throws: `CryptoError.unavailable`.
    public func sealed(_ credentials: StoredCredentials, ofNextAccountOf userID: UserID) throws -> [UInt8] {
        try sealer.seal(credentials, for: .user(userID))
    }

    /// Seals a user's tokens for moving contents out of the account that they are about to leave.
    /// - Parameter user: the user as read earlier; if they have switched to another account since, its tokens are not
    ///   opened.
    /// - Returns: `nil` if there are no tokens.
    /// - Throws: ``AccountSwitched``, ``StoreError``, `CryptoError.unavailable`.
    public func sealedForMove(outOfAccountOf user: UserRecord, _ logger: Logger) throws -> FormerAccount? {
        guard let kept = try load(user, logger), let credentials = kept.credentials else { return nil }
        let place = CredentialSealer.Place.formerAccount(user.userID, user.accountEpoch)
        return FormerAccount(credentials: try sealer.seal(credentials, for: place), version: kept.version)
    }

    /// Stores renewed tokens of an account that a user has left, while contents are moved out of it.
    /// - Returns: the tokens that are valid from now on.
    /// - Throws: ``StoreError``, `CryptoError.unavailable`.
    func keep(
        _ fresh: StoredCredentials, renewedFrom old: StoredCredentials, of move: AccountMove, _ logger: Logger
    ) throws -> StoredCredentials {
        let place = CredentialSealer.Place.formerAccount(move.former.userID, move.former.accountEpoch)
        return try store.transaction { session in
            let present = try session.lockCredentials(ofMove: move.switchID)
            let kept = try merged(fresh, renewedFrom: old, into: present, in: place, logger)
            if let record = kept.record { try session.storeCredentials(record, ofMove: move.switchID) }
            return kept.credentials
        }
    }

    /// Seals the credentials obtained for an authorization code, to be stored under `key`.
    /// - Throws: `CryptoError.unavailable`.
    public func sealed(_ credentials: StoredCredentials, ofCode key: [UInt8]) throws -> [UInt8] {
        try sealer.seal(credentials, for: .code(key))
    }
}

/// A user has switched to another account since their record was read: an operation begun with the former account
/// cannot continue, but can be restarted with the current one.
public struct AccountSwitched: Error {
    public init() {}
}

/// The user who owns the storage has been removed. This is not a revoked authorization: there is no longer a user to
/// authorize.
///
/// Occurs as the cause of ``CloudStorageError/localFailure(_:)``.
public struct OwnerRemoved: Error, Equatable {
    public init() {}
}

// MARK: Manifests

extension CredentialVault {
    /// The text is padded to a multiple of this length, four UUIDs, since its length would reveal the number of groups.
    private static let sealedGroupsUnit = 4 * 37

    /// Seals the other groups of a user for the manifest of `group`, whose readers must not know them.
    /// - Throws: `CryptoError`.
    public func seal(otherGroups: [SharingGroupUUID], of userID: UserID, in group: SharingGroupUUID) throws -> [UInt8] {
        var text = otherGroups.map(\.rawValue).joined(separator: " ")
        text += String(repeating: " ", count: Self.sealedGroupsUnit - text.utf8.count % Self.sealedGroupsUnit)
        return try sealer.seal(Array(text.utf8), for: .otherGroups(userID, group))
    }

    /// Opens a text sealed by ``seal(otherGroups:of:in:)``; `nil` if its key is not known here, or the text is damaged.
    public func openOtherGroups(
        _ sealed: [UInt8], of userID: UserID, in group: SharingGroupUUID
    ) -> [SharingGroupUUID]? {
        guard let bytes = try? sealer.openBytes(sealed, from: .otherGroups(userID, group)) else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { SharingGroupUUID(String($0)) }
    }
}
