import Store
import SyncProtocol

/// Lists the caller's sharing groups, and the files of one of them together with its master version.
///
/// All of it is read from one snapshot, so the version describes exactly the files listed. Reads only; may be repeated.
struct IndexEndpoint: Endpoint {
    /// - Throws: ``EndpointError/groupUnknown`` if the caller is no member of the group asked for.
    func respond(to request: IndexRequest, in context: RequestContext) throws -> EndpointReply {
        let body = try context.store.snapshot { session in
            var writer = IndexResponseWriter()
            if let group = request.sharingGroupUUID {
                guard let membership = try session.membership(of: context.caller.userID, in: group) else {
                    throw EndpointError.groupUnknown
                }
                writer.beginFiles(masterVersion: membership.masterVersion)
                try session.writeFiles(of: membership, to: &writer)
                writer.endFiles()
            }
            writer.beginGroups()
            for group in try session.groups(of: context.caller.userID) { writer.group(group) }
            writer.finish()
            return writer.json.bytes
        }
        return .json(body)
    }
}
