import Store
import SyncProtocol

/// Stages the deletion of a committed file for the next commit.
///
/// A repeated request finds its row and changes nothing; neither does committing a deletion that another device has
/// already committed. The debugging parameter `actualDeletion` is ignored: no build deletes files without a commit.
struct UploadDeletionEndpoint: Endpoint {
    /// - Throws: ``EndpointError/fileVersionMismatch``.
    func respond(
        to request: UploadDeletionRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let staging = StagingOfCommittedFile(
            group: request.sharingGroupUUID, file: request.fileUUID, masterVersion: request.masterVersion,
            batchMember: batchMember(for: request, context), caller: caller, context: context)
        let response = try staging.stage { current throws(EndpointError) in
            guard request.fileVersion == current.fileVersion else { throw .fileVersionMismatch }
            var change = StagedChange(fileUUID: request.fileUUID, kind: .deletion)
            change.fileVersion = request.fileVersion
            return change
        }
        return .json(response)
    }

    private func batchMember(for request: UploadDeletionRequest, _ context: RequestContext) -> BatchMember? {
        guard let batch = request.batch else { return nil }
        let bare = UploadDeletionRequest(
            fileUUID: request.fileUUID, fileVersion: request.fileVersion, masterVersion: MasterVersion(0),
            sharingGroupUUID: request.sharingGroupUUID)
        return BatchMember(
            of: batch, changing: request.fileUUID, from: request.masterVersion, asking: bare, context: context)
    }
}

extension UploadDeletionRequest: ServedRequest {
    typealias Handler = UploadDeletionEndpoint
}
