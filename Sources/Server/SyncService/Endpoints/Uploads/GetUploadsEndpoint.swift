import Store
import SyncProtocol

/// Lists what the calling device has staged in a group.
///
/// Reads only; may be repeated.
struct GetUploadsEndpoint: Endpoint {
    func respond(
        to request: GetUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let uploads = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            return try session.stagedChanges(in: member.stagingArea).map { change in
                var info = FileInfo(
                    fileUUID: change.fileUUID, sharingGroupUUID: member.groupUUID,
                    deleted: change.kind == .deletion)
                info.fileVersion = change.fileVersion
                info.mimeType = change.mimeType
                info.creationDate = change.createdAt
                info.updateDate = change.updatedAt
                info.fileGroupUUID = change.fileGroupUUID
                info.batchUUID = change.batchUUID
                return info
            }
        }
        return .json(GetUploadsResponse(uploads: uploads))
    }
}

extension GetUploadsRequest: ServedRequest {
    typealias Handler = GetUploadsEndpoint
}
