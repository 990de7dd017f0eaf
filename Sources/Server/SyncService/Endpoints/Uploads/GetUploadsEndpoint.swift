import Store
import SyncProtocol

/// Lists what the calling device has staged in a group.
///
/// Reads only; may be repeated.
struct GetUploadsEndpoint: Endpoint {
    func respond(to request: GetUploadsRequest, in context: RequestContext) throws -> EndpointReply {
        let uploads = try context.store.snapshot { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .write, using: &session)
            let area = StagingArea(
                userID: context.caller.userID, deviceUUID: context.device, groupID: membership.groupID)
            return try session.stagedChanges(in: area).map { change in
                var info = FileInfo(
                    fileUUID: change.fileUUID, sharingGroupUUID: membership.groupUUID,
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
