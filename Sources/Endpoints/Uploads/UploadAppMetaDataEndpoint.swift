import Store
import SyncProtocol

/// Stages a change of a committed file's metadata for the next commit.
///
/// A repeated request finds its row and changes nothing.
struct UploadAppMetaDataEndpoint: Endpoint {
    /// - Throws: ``EndpointError/fileDeleted``, ``EndpointError/appMetaDataVersionMismatch``.
    func respond(to request: UploadAppMetaDataRequest, in context: RequestContext) throws -> EndpointReply {
        let staging = StagingOfCommittedFile(
            group: request.sharingGroupUUID, file: request.fileUUID, masterVersion: request.masterVersion,
            context: context)
        let response = try staging.stage { current throws(EndpointError) in
            if current.isDeleted { throw .fileDeleted }
            guard request.appMetaData.version.isNext(after: current) else { throw .appMetaDataVersionMismatch }
            var change = StagedChange(fileUUID: request.fileUUID, kind: .metadata)
            change.appMetaData = request.appMetaData.contents
            change.appMetaDataVersion = request.appMetaData.version
            return change
        }
        return .json(response)
    }
}
