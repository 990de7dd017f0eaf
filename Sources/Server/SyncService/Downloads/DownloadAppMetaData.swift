import Store
import SyncProtocol

/// Returns the current metadata of a file.
///
/// Reads only, on one snapshot; may be repeated.
struct DownloadAppMetaDataEndpoint: Endpoint {
    /// - Throws: ``EndpointError/fileUnknown``, ``EndpointError/fileDeleted``, ``EndpointError/appMetaDataUnknown``,
    ///   ``EndpointError/appMetaDataVersionMismatch``.
    func respond(
        to request: DownloadAppMetaDataRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let response: DownloadAppMetaDataResponse = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            guard member.masterVersion == request.masterVersion else {
                return .stale(current: member.masterVersion)
            }
            guard let file = try session.file(request.fileUUID, in: member.groupID) else {
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

extension DownloadAppMetaDataRequest: ServedRequest {
    typealias Handler = DownloadAppMetaDataEndpoint
}
