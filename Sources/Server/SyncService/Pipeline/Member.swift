import Providers
import Store
import SyncProtocol

/// A user who is in a group and has the permission that the endpoint requires.
@dynamicMemberLookup
struct Member {
    let user: SignedInUser
    let membership: Membership

    fileprivate init(_ user: SignedInUser, _ membership: Membership) {
        self.user = user
        self.membership = membership
    }

    subscript<Value>(dynamicMember path: KeyPath<Membership, Value>) -> Value { membership[keyPath: path] }

    var userID: UserID { user.userID }
    /// The area in which the calling device stages changes to the group.
    var stagingArea: StagingArea {
        StagingArea(userID: userID, deviceUUID: user.device, groupID: membership.groupID)
    }
}

/// The caller of an endpoint that does not check credentials.
struct Anyone {}

/// A person with valid credentials; need not be a user.
struct SignedInPerson {
    let presented: PresentedCredentials
    let account: any AccountProvider
    /// The identity that the provider reports.
    let profile: SignInProfile
    let device: DeviceUUID
    /// Whether this request itself asked the provider, or verified its signature.
    let isFresh: Bool
}

/// A person who is a user.
struct SignedInUser {
    let person: SignedInPerson
    let record: UserRecord

    var userID: UserID { record.userID }
    var device: DeviceUUID { person.device }
}

/// A user who makes a request about a sharing group. Their rights there are determined with ``member(of:using:)`` and
/// its siblings, the only sources of a ``Member``.
struct GroupCaller {
    private let user: SignedInUser
    /// The access that the protocol's table requires.
    private let access: EndpointRoute.GroupAccess

    init(_ user: SignedInUser, _ access: EndpointRoute.GroupAccess) {
        self.user = user
        self.access = access
    }

    var userID: UserID { user.userID }
    var device: DeviceUUID { user.device }

    /// The caller as a member of the group that the request names, with the permission that its endpoint requires.
    /// - Throws: ``ErrorCode/notAMember``, ``ErrorCode/permissionTooLow``; if the request need not
    ///   name a group, ``ErrorCode/groupUnknown`` in place of both.
    func member(of group: SharingGroupUUID, using session: inout StoreSession) throws -> Member {
        try member(session.membership(of: userID, in: group))
    }

    /// The same, in a separate session.
    func member(of group: SharingGroupUUID, in store: MetadataStore) throws -> Member {
        try store.withSession { try member(of: group, using: &$0) }
    }

    /// The same, together with a file, deleted or not, if the group has it; both from one snapshot.
    func member(
        of group: SharingGroupUUID, with file: FileUUID, using session: inout StoreSession
    ) throws -> (Member, FileRecord?) {
        let found = try session.membership(of: userID, in: group, with: file)
        return (try member(found?.membership), found?.file)
    }

    /// The caller as a member, together with the data that decides about an upload.
    func memberUploading(
        _ file: FileUUID, to group: SharingGroupUUID, using session: inout StoreSession
    ) throws -> (Member, UploadSituation) {
        let situation = try session.uploadSituation(of: file, by: user.record, on: user.device, in: group)
        let member = try member(situation?.membership)
        guard let situation else { throw Refusal(.notAMember) }
        return (member, situation)
    }

    /// The valid membership, given one that was read before its group's row was locked: the same one if the master
    /// version has not changed; otherwise the stored one, since a concurrent change may have revoked rights of the
    /// caller.
    /// - Parameter version: the master version found under the lock.
    /// - Throws: As ``member(of:using:)``.
    func member(
        _ read: Member, lockedAt version: MasterVersion, using session: inout StoreSession
    ) throws -> Member {
        guard read.masterVersion != version else { return read }
        return try member(of: read.groupUUID, using: &session)
    }

    private func member(_ membership: Membership?) throws(Refusal) -> Member {
        guard let membership else { throw Refusal(access == .membershipIfNamed ? .groupUnknown : .notAMember) }
        switch access {
        case .permission(let needed):
            guard membership.permission >= needed else {
                throw Refusal(.permissionTooLow, "this requires the permission \(needed)")
            }
        case .membership, .membershipIfNamed: break
        case .none: throw Refusal(.notAMember)
        }
        return Member(user, membership)
    }
}
