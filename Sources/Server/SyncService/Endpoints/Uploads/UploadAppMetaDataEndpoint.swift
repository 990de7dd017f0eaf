import Store
import SyncProtocol

/// Stages a change of a committed file's metadata for the next commit.
///
/// The metadata are in the query or, if too long for it, in the request's body. A repeated request finds its row and
/// changes nothing.
struct UploadAppMetaDataEndpoint: Endpoint {
    /// - Throws: ``EndpointError/fileDeleted``, ``EndpointError/appMetaDataVersionMismatch``, and the errors of reading
    ///   a body.
    func respond(
        to request: UploadAppMetaDataRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let metaData = try request.appMetaData ?? metaDataInBody(of: context)
        let staging = StagingOfCommittedFile(
            group: request.sharingGroupUUID, file: request.fileUUID, masterVersion: request.masterVersion,
            batchMember: batchMember(for: request, with: metaData, context), caller: caller,
            context: context)
        let response = try staging.stage { current throws(EndpointError) in
            if current.isDeleted { throw .fileDeleted }
            guard metaData.version.isNext(after: current) else { throw .appMetaDataVersionMismatch }
            var change = StagedChange(fileUUID: request.fileUUID, kind: .metadata)
            change.appMetaData = metaData.contents
            change.appMetaDataVersion = metaData.version
            return change
        }
        return .json(response)
    }

    /// The same JSON text that the parameter holds, as the whole body.
    private func metaDataInBody(of context: RequestContext) throws -> AppMetaData {
        let limit = UploadAppMetaDataRequest.maximumBodyBytes
        guard let length = context.head.contentLength, length > 0 else { throw RequestError.missing(.appMetaData) }
        guard length <= limit else { throw EndpointError.bodyTooLarge(maximumBytes: Int64(limit)) }
        let bytes = try context.body.readWhole()
        guard let text = String(validating: bytes, as: UTF8.self) else { throw RequestError.invalidUTF8 }
        return try AppMetaData(jsonText: text)
    }

    private func batchMember(
        for request: UploadAppMetaDataRequest, with metaData: AppMetaData, _ context: RequestContext
    ) -> BatchMember? {
        guard let batch = request.batch else { return nil }
        let bare = UploadAppMetaDataRequest(
            fileUUID: request.fileUUID, appMetaData: metaData, masterVersion: MasterVersion(0),
            sharingGroupUUID: request.sharingGroupUUID)
        return BatchMember(
            of: batch, changing: request.fileUUID, from: request.masterVersion, asking: bare, context: context)
    }
}

extension UploadAppMetaDataRequest: ServedRequest {
    typealias Handler = UploadAppMetaDataEndpoint
}
