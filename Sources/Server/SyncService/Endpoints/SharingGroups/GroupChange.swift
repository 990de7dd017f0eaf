import Store
import SyncProtocol

/// A change of a sharing group itself, under the rules that all of them share.
///
/// Compare, advance and change are one transaction: of two changes from the same master version one wins, and the other
/// is told the present one. A repeated request is stale therefore, or the caller is no member any more.
struct GroupChange {
    let group: SharingGroupUUID
    let masterVersion: MasterVersion
    let permission: Permission
    let context: RequestContext

    /// Advances the master version and runs `body` with the version it has then.
    /// - Throws: ``EndpointError/notAMember``, ``EndpointError/permissionTooLow(needed:)``, ``StoreError``.
    func make(
        _ body: (inout StoreSession, Membership, MasterVersion) throws -> Void
    ) throws -> MasterVersionCheckedResponse {
        try context.store.transaction { session in
            let read = try context.membership(in: group, needing: permission, using: &session)
            switch try session.advanceMasterVersion(of: read.groupID, from: masterVersion) {
            case .stale(let current):
                _ = try context.membership(read, lockedAt: current, needing: permission, using: &session)
                return .stale(current: current)
            case .advanced(let version):
                let membership = try context.membership(
                    read, lockedAt: masterVersion, needing: permission, using: &session)
                try body(&session, membership, version)
                return .accepted
            }
        }
    }
}
