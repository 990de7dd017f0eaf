public import Foundation
import Synchronization

// The app's user, and invitations.
extension SyncServer {
    /// Whether the server knows the signed-in user.
    public enum CheckForExistingUserResult: Sendable, Hashable {
        /// The server does not know the user, or does not accept the credentials.
        case noUser
        /// The server knows the user.
        case user(SignedInUser)
    }

    /// The server's information about an invitation.
    public enum SharingInvitationInfo: Sendable, Hashable {
        /// It never existed, is used up, or expired.
        case noInvitationFound
        /// It can be redeemed.
        case invitation(Invitation)
    }

    /// An invitation to a sharing group.
    public struct Invitation: Sendable, Hashable {
        /// The code that people pass on.
        public let code: SharingInvitationUUID
        /// The permission of a user who redeems it.
        public let permission: Permission
        /// Whether people without their own storage may redeem it.
        public let allowsSocialSharing: Bool
        /// The name of the group, if it has one and the server reports it.
        public var sharingGroupName: String?
        /// The name of the user who invites, if the server reports it.
        public var invitingUserName: String?
        /// How many people may still redeem it; only in ``SyncServer/invitations(to:)``.
        public var remainingAcceptors: Int?
        /// When it expires, by the server's clock; only in ``SyncServer/invitations(to:)``.
        public var expirationDate: Date?

        /// Creates an invitation.
        public init(code: SharingInvitationUUID, permission: Permission, allowsSocialSharing: Bool) {
            self.code = code
            self.permission = permission
            self.allowsSocialSharing = allowsSocialSharing
        }
    }

    /// The server's identifier of the user whose files are in the store; nil before the first sign-in.
    public var syncServerUserID: String? { driver.state.withLock { $0.userID } }

    /// Asks the server whether it knows the user, and updates the sharing groups if it does.
    /// - Throws: `differentUser` if the store contains files of another user; `signedOutRemotely` if the user has
    ///   switched to another account; `networkError` and others.
    @discardableResult
    public func checkForExistingUser() async throws(SyncError) -> CheckForExistingUserResult {
        let connection = try requireConnection()
        let outcome = try await asked { () throws(ServerConnectionError) in try await connection.checkCredentials() }
        switch outcome {
        case .noUser: return .noUser
        case .retired(let activeAccountType, let undoUntil):
            var error = SyncError(.signedOutRemotely)
            error.activeAccountType = activeAccountType
            error.undoUntil = undoUntil
            throw error
        case .user(let user):
            try await bind(user)
            try await refreshGroups()
            return .user(user)
        }
    }

    /// Creates a user with a first sharing group. Requires an account with storage.
    /// - Parameter acceptsRetired: Whether an account that another user has left by a switch may start as a new user;
    ///   otherwise it is refused (`signedOutRemotely`).
    /// - Throws: `sharingGroupExists` if the group is known locally; `requestRefused` with the server's code; others.
    @discardableResult
    public func addUser(
        sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil, acceptsRetired: Bool = false
    ) async throws(SyncError) -> SignedInUser {
        let connection = try requireConnection()
        try driver.read { machine throws(SyncError) in
            guard machine.state.groups[sharingGroupUUID] == nil else {
                throw SyncError(.sharingGroupExists, sharingGroupUUID: sharingGroupUUID)
            }
        }
        let request = AddUserRequest(
            sharingGroupUUID: sharingGroupUUID, sharingGroupName: sharingGroupName,
            cloudFolderName: configuration.cloudFolderName, reportIdentity: true, acceptRetired: acceptsRetired)
        let user = try await asked { () throws(ServerConnectionError) in try await connection.addUser(request) }
        try await bind(user)
        try driver.change { machine throws(SyncError) in
            machine.addOwnGroup(sharingGroupUUID, name: sharingGroupName)
            return ((), [])
        }
        return user
    }

    /// Removes the user with all memberships from the server. Files in cloud storage are kept, and so is the local
    /// store, until ``reset(type:)``.
    public func removeUser() async throws(SyncError) {
        let connection = try requireConnection()
        try await asked { () throws(ServerConnectionError) in try await connection.removeUser() }
    }

    /// Invites people to a sharing group, for 24 hours. Requires an admin of the group.
    /// - Parameters:
    ///   - numberAcceptors: How many people may accept, 1 to 10.
    ///   - allowSharingAcceptance: Whether people without storage may accept: the inviting user hosts their files.
    /// - Returns: The code that people pass on.
    public func createSharingInvitation(
        withPermission permission: Permission, sharingGroupUUID: SharingGroupUUID, numberAcceptors: Int = 1,
        allowSharingAcceptance: Bool = true
    ) async throws(SyncError) -> SharingInvitationUUID {
        let connection = try requireConnection()
        let request = CreateSharingInvitationRequest(
            permission: permission, sharingGroupUUID: sharingGroupUUID, allowSocialAcceptance: allowSharingAcceptance,
            numberOfAcceptors: Int32(clamping: numberAcceptors))
        return try await asked(sharingGroupUUID) { () throws(ServerConnectionError) in
            try await connection.createSharingInvitation(request)
        }
    }

    /// Requests the details of an invitation, with the names of the inviting user and of the group. Requires no
    /// sign-in, and changes nothing.
    public func getSharingInvitationInfo(
        invitationCode: SharingInvitationUUID
    ) async throws(SyncError) -> SharingInvitationInfo {
        let connection = try requireConnection()
        let info = try await asked { () throws(ServerConnectionError) in
            try await connection.sharingInvitationInfo(invitationCode)
        }
        guard let info else { return .noInvitationFound }
        var invitation = Invitation(
            code: invitationCode, permission: info.permission, allowsSocialSharing: info.allowSocialAcceptance)
        invitation.sharingGroupName = info.sharingGroupName
        invitation.invitingUserName = info.invitingUserName
        return .invitation(invitation)
    }

    /// Accepts an invitation, creates the user if necessary, and updates the sharing groups.
    /// - Throws: `socialAcceptanceNotAllowed` if the invitation requires an account with storage; `noInvitationFound`;
    ///   `requestRefused` with the server's code for a member; others. A failure does not sign the user out.
    /// - Returns: The group.
    @discardableResult
    public func redeemSharingInvitation(
        invitationCode: SharingInvitationUUID
    ) async throws(SyncError) -> SharingGroupUUID {
        let connection = try requireConnection()
        let request = RedeemSharingInvitationRequest(
            sharingInvitationUUID: invitationCode, cloudFolderName: configuration.cloudFolderName, reportIdentity: true)
        let outcome = try await asked { () throws(ServerConnectionError) in
            try await connection.redeemSharingInvitation(request)
        }
        switch outcome {
        case .storageAccountRequired: throw SyncError(.socialAcceptanceNotAllowed)
        case .invitationUnknown: throw SyncError(.noInvitationFound)
        case .joined(let user, let group):
            try await bind(user)
            try await refreshGroups()
            return group
        }
    }

    /// Registers this device for push notifications; the last registration counts. ``syncAutomatically(every:)`` then no
    /// longer listens.
    public func registerPushNotificationToken(
        _ token: String, kind: PushNotificationKind? = nil, environment: PushNotificationEnvironment? = nil
    ) async throws(SyncError) {
        let connection = try requireConnection()
        let request = RegisterPushNotificationTokenRequest(
            pushNotificationToken: token, pushNotificationKind: kind, pushNotificationEnvironment: environment)
        try await asked { () throws(ServerConnectionError) in
            try await connection.registerPushNotificationToken(request)
        }
        driver.hasPush.store(true, ordering: .relaxed)
        driver.pushRegistrations.send(())
    }

    // MARK: Parts

    func requireConnection() throws(SyncError) -> ServerConnection {
        guard let connection else { throw SyncError(.notSupported) }
        return connection
    }

    private func bind(_ user: SignedInUser) async throws(SyncError) {
        guard let credentials = await credentialProvider?.credentials() else { throw SyncError(.signInRequired) }
        try driver.bind(user, credentials.accountType)
    }

    /// Updates the groups. Ignores most errors: the user is known by now, even if the groups must wait for the next
    /// sync.
    private func refreshGroups() async throws(SyncError) {
        do { try await synced() } catch {
            if let error = error as? SyncError, error.code == .differentUser || error.code == .closed { throw error }
        }
    }

    func asked<Value: Sendable>(
        _ group: SharingGroupUUID? = nil, _ body: () async throws(ServerConnectionError) -> Value
    ) async throws(SyncError) -> Value {
        do throws(ServerConnectionError) { return try await body() } catch {
            throw SyncError(error, sharingGroupUUID: group)
        }
    }
}

extension SyncError {
    /// Translates a connection error for apps.
    package init(_ error: ServerConnectionError, sharingGroupUUID: SharingGroupUUID? = nil) {
        let code: Code =
            switch error.code {
            case .signInRequired: error.serverCode == .known(.accountRetired) ? .signedOutRemotely : .signInRequired
            case .serverVersionTooOld: .badServerVersion
            case .serverUnavailable: .serverDown
            case .notSupported: .notSupported
            case .refused, .gone, .serverFailed, .invalidRequest:
                switch error.serverCode {
                case .known(.permissionTooLow): .permissionDenied
                case .known(.notAMember): .notAMember
                default: .requestRefused
                }
            case .busy where error.status == 429: .requestRefused
            default: .networkError
            }
        self.init(code, sharingGroupUUID: sharingGroupUUID)
        status = error.status
        serverCode = error.serverCode?.rawValue
        message = error.maintenanceMessage
        activeAccountType = error.activeAccountType
        undoUntil = error.undoUntil
        usableFrom = error.usableFrom
    }
}
