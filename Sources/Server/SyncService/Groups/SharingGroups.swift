import Store
import SyncProtocol

/// Creates a sharing group with the caller as its admin.
///
/// A repeated request finds the group that the first one created, and gets the same reply.
struct CreateSharingGroupEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/owningAccountRequired``, ``ErrorCode/groupExists``, a reached quota.
    func respond(
        to request: CreateSharingGroupRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        guard caller.record.accountType.cloudStorageType != nil else { throw Refusal(.owningAccountRequired) }
        do {
            try context.store.transaction { session in
                // An exclusive lock, so that the caller's groups can be counted.
                guard try session.lockUser(caller.userID) else { throw Refusal(.userUnknown) }
                try session.addGroup(
                    request.sharingGroupUUID, name: request.sharingGroupName, creator: caller.userID, at: context.now)
                try context.checkGroups(of: caller.userID, in: &session)
                try context.use(.groupsPerHour, of: caller.person, in: &session)
            }
        } catch StoreError.alreadyExists {
            let existing = try context.store.withSession { session in
                try session.membership(of: caller.userID, in: request.sharingGroupUUID)
            }
            guard let existing, existing.permission == .admin, existing.invitation == nil else {
                throw Refusal(.groupExists)
            }
        }
        return .json(EmptyResponse())
    }
}

extension CreateSharingGroupRequest: ServedRequest {
    typealias Handler = CreateSharingGroupEndpoint
}

/// Renames a sharing group.
///
/// A repeated request is stale, since the first one has advanced the master version.
struct UpdateSharingGroupEndpoint: Endpoint {
    func respond(
        to request: UpdateSharingGroupRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        try caller.change(request, in: context, isRenaming: true) { session, member, _ in
            try session.rename(member.groupID, to: request.sharingGroupName)
        }
    }
}

extension UpdateSharingGroupRequest: GroupChange {
    typealias Handler = UpdateSharingGroupEndpoint
}

/// Ends a sharing group for all its members; the files are left in their owners' storage.
///
/// On a repeated request the caller is no longer a member.
struct RemoveSharingGroupEndpoint: Endpoint {
    func respond(
        to request: RemoveSharingGroupRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        try caller.change(request, in: context) { session, member, version in
            try session.endGroup(member.groupID, as: version, at: context.now)
        }
    }
}

extension RemoveSharingGroupRequest: GroupChange {
    typealias Handler = RemoveSharingGroupEndpoint
}

/// A request to change a sharing group itself.
protocol GroupChange: ServedRequest where Response == MasterVersionCheckedResponse {
    var sharingGroupUUID: SharingGroupUUID { get }
    var masterVersion: MasterVersion { get }
}

extension GroupCaller {
    /// Changes a sharing group: advances the master version, runs `body` with the new version, and schedules owners'
    /// index pages.
    ///
    /// Comparing and advancing the version and the change itself are one transaction: of two changes from the same
    /// master version one succeeds, and the other gets the current version. A repeated request is therefore stale, or
    /// its caller is no longer a member.
    /// - Parameter isRenaming: whether `body` changes the group's name.
    /// - Throws: ``ErrorCode/notAMember``, ``ErrorCode/permissionTooLow``, ``StoreError``.
    func change(
        _ request: some GroupChange, in context: RequestContext, isRenaming: Bool = false,
        _ body: (inout StoreSession, Member, MasterVersion) throws -> Void
    ) throws -> EndpointReply {
        let response: MasterVersionCheckedResponse = try context.store.transaction { session in
            let read = try member(of: request.sharingGroupUUID, using: &session)
            switch try session.advanceMasterVersion(of: read.groupID, from: request.masterVersion) {
            case .stale(let current):
                _ = try member(read, lockedAt: current, using: &session)
                return .stale(current: current)
            case .advanced(let version):
                let member = try member(read, lockedAt: request.masterVersion, using: &session)
                try body(&session, member, version)
                try context.scheduleIndexPages(
                    ofChangesIn: member.groupID, as: version, isRenamed: isRenaming, using: &session)
                return .accepted
            }
        }
        return .json(response)
    }
}
