import Store
import SyncProtocol

/// Discards what the calling device has staged in a group: everything, or only some files, or one batch.
///
/// Staged changes concern nobody else, so the master version does not matter. The objects in the clouds are deleted
/// after the reply, through the outbox. A repeated request finds nothing left to discard. An upload still in progress
/// is staged afterwards and remains.
struct DiscardUploadsEndpoint: Endpoint {
    func respond(
        to request: DiscardUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let discarded = try context.store.transaction { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            // Commits wait for this lock, or have already taken their rows.
            _ = try session.lockMasterVersionShared(of: member.groupID)
            return try session.discardStaged(
                in: member.stagingArea, files: request.fileUUIDs.map { Set($0) }, batch: request.batchUUID,
                at: context.now)
        }
        return .json(DiscardUploadsResponse(numberUploadsDiscarded: Int32(clamping: discarded)))
    }
}

extension DiscardUploadsRequest: ServedRequest {
    typealias Handler = DiscardUploadsEndpoint
}
