import Store
import SyncProtocol

/// Withdraws what the calling device has staged in a group: all of it, or that of some files, or of a batch.
///
/// Staged changes are nobody else's business, so the master version plays no part. The objects in the clouds go
/// after the reply, from the outbox. A repeated request finds nothing left to withdraw. An upload that is still
/// under way is staged afterwards, and stays.
struct DiscardUploadsEndpoint: Endpoint {
    func respond(
        to request: DiscardUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let discarded = try context.store.transaction { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            // Commits wait meanwhile, or have taken their rows.
            _ = try session.lockMasterVersionShared(of: member.groupID)
            return try session.discardStaged(
                in: member.stagingArea, files: request.fileUUIDs.map { Set($0) }, batch: request.batchUUID,
                at: context.now)
        }
        return .json(DiscardUploadsResponse(numberUploadsDiscarded: Int32(clamping: discarded)))
    }
}
