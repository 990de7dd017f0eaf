import Store
import SyncProtocol

/// Returns the current metadata of a file.
///
/// Reads only, on one snapshot; may be repeated.
struct DownloadAppMetaDataEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/fileUnknown``, ``ErrorCode/fileDeleted``, ``ErrorCode/appMetaDataUnknown``,
    ///   ``ErrorCode/appMetaDataVersionMismatch``.
    func respond(
        to request: DownloadAppMetaDataRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let response: DownloadAppMetaDataResponse = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            guard member.masterVersion == request.masterVersion else {
                return .stale(current: member.masterVersion)
            }
            guard let file = try session.file(request.fileUUID, in: member.groupID) else {
                throw Refusal(.fileUnknown)
            }
            guard !file.isDeleted else { throw Refusal(.fileDeleted) }
            guard let version = file.appMetaDataVersion, let contents = file.appMetaData else {
                throw Refusal(.appMetaDataUnknown)
            }
            guard version == request.appMetaDataVersion else { throw Refusal(.appMetaDataVersionMismatch) }
            return .found(appMetaData: contents)
        }
        return .json(response)
    }
}

extension DownloadAppMetaDataRequest: ServedRequest {
    typealias Handler = DownloadAppMetaDataEndpoint
}
