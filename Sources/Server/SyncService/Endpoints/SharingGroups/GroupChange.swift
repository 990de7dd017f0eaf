import Store
import SyncProtocol

/// A change of a sharing group itself, under the rules that all of them share.
///
/// Compare, advance and change are one transaction: of two changes from the same master version one wins, and the other
/// is told the present one. A repeated request is stale therefore, or the caller is no member any more.
struct GroupChange {
    let group: SharingGroupUUID
    let masterVersion: MasterVersion
    let caller: GroupCaller
    let context: RequestContext

    /// Advances the master version and runs `body` with the version it has then.
    /// - Throws: ``EndpointError/notAMember``, ``EndpointError/permissionTooLow(needed:)``, ``StoreError``.
    func make(
        _ body: (inout StoreSession, Member, MasterVersion) throws -> Void
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
                return .accepted
            }
        }
    }
}
