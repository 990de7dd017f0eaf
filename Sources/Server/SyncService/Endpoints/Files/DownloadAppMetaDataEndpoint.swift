import Store
import SyncProtocol

/// Hands out the current metadata of a file.
///
/// Reads only, on one snapshot; may be repeated.
struct DownloadAppMetaDataEndpoint: Endpoint {
    /// - Throws: ``EndpointError/fileUnknown``, ``EndpointError/fileDeleted``, ``EndpointError/appMetaDataUnknown``,
    ///   ``EndpointError/appMetaDataVersionMismatch``.
    func respond(to request: DownloadAppMetaDataRequest, in context: RequestContext) throws -> EndpointReply {
        let response: DownloadAppMetaDataResponse = try context.store.snapshot { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .read, using: &session)
            guard membership.masterVersion == request.masterVersion else {
                return .stale(current: membership.masterVersion)
            }
            guard let file = try session.file(request.fileUUID, in: membership.groupID) else {
                throw EndpointError.fileUnknown
            }
            guard !file.isDeleted else { throw EndpointError.fileDeleted }
            guard let version = file.appMetaDataVersion, let contents = file.appMetaData else {
                throw EndpointError.appMetaDataUnknown
            }
            guard version == request.appMetaDataVersion else { throw EndpointError.appMetaDataVersionMismatch }
            return .found(appMetaData: contents)
        }
        return .json(response)
    }
}
