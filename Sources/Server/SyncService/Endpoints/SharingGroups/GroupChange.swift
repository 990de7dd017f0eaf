import Store
import SyncProtocol

/// A change to a sharing group itself, under the rules common to all such changes.
///
/// Comparing and advancing the version and the change itself are one transaction: of two changes from the same master
/// version one succeeds, and the other gets the current version. A repeated request is therefore stale, or its caller
/// is no longer a member.
struct GroupChange {
    let group: SharingGroupUUID
    let masterVersion: MasterVersion
    let caller: GroupCaller
    let context: RequestContext

    /// Advances the master version and runs `body` with the new version; schedules owners' index pages.
    /// - Parameter isRenaming: whether `body` changes the group's name.
    /// - Throws: ``EndpointError/notAMember``, ``EndpointError/permissionTooLow(needed:)``, ``StoreError``.
    func make(
        isRenaming: Bool = false, _ body: (inout StoreSession, Member, MasterVersion) throws -> Void
    ) throws -> MasterVersionCheckedResponse {
        try context.store.transaction { session in
            let read = try caller.member(of: group, using: &session)
            switch try session.advanceMasterVersion(of: read.groupID, from: masterVersion) {
            case .stale(let current):
                _ = try caller.member(read, lockedAt: current, using: &session)
                return .stale(current: current)
            case .advanced(let version):
                let member = try caller.member(read, lockedAt: masterVersion, using: &session)
                try body(&session, member, version)
                try context.scheduleIndexPages(
                    ofChangesIn: member.groupID, as: version, isRenamed: isRenaming, using: &session)
                return .accepted
            }
        }
    }
}
