import Store
import SyncProtocol

/// Lists the caller's sharing groups, and the files of one of them together with its master version.
///
/// Everything is read from one snapshot, so the version describes exactly the files listed. A long reply is sent while
/// its rows are read (``ReplyStream``). A client that names its state (``EntityTag``) learns whether that is still
/// current, and a client that names a master version gets the changes after it. Reads only; may be repeated.
struct IndexEndpoint: Endpoint {
    /// - Throws: ``EndpointError/groupUnknown`` if the caller is not a member of the requested group.
    func respond(
        to request: IndexRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        // No thread may wait for the phone while the snapshot is open.
        try context.body.drain()
        var stream = ReplyStream(on: context.connection, headers: [])
        let outcome: Outcome
        do {
            outcome = try context.store.snapshot { session in
                try write(request, from: caller, in: context, &stream, &session)
            }
        } catch  where stream.hasStarted {
            throw ReplyInterrupted(reason: "\(error)")
        }
        switch outcome {
        case .unchanged: return .notModified
        case .written(let json):
            guard stream.hasStarted else { return .json(json.bytes) }
            try stream.finish(json)
            return .sent(bytes: stream.totalBytes)
        }
    }

    private enum Outcome {
        case unchanged
        case written(JSONWriter)
    }

    private func write(
        _ request: IndexRequest, from caller: GroupCaller, in context: RequestContext, _ stream: inout ReplyStream,
        _ session: inout StoreSession
    ) throws -> Outcome {
        let group = try request.sharingGroupUUID.map { try caller.member(of: $0, using: &session) }
        let groups = try session.groups(of: caller.userID)
        let tag = EntityTag(
            groups: groups, request: request, caller: caller.userID,
            serverVersion: context.services.settings.serverVersion, reuploads: group?.reuploads ?? 0)
        // Operating systems and proxies must not cache the reply: they would send conditional requests on behalf of
        // clients that do not expect 304.
        context.replyHeaders += [(ResponseHeader.entityTag.rawValue, tag.text), ("cache-control", "no-store")]
        if let known = context.head.header(.ifNoneMatch), tag.isNamed(by: known) { return .unchanged }
        stream = ReplyStream(
            on: context.connection,
            headers: context.services.commonHeaders + context.replyHeaders + [("content-type", "application/json")])
        var writer = IndexResponseWriter(reservingBytes: group == nil ? 4_096 : 72 * 1024)
        if let group {
            // A version that the group has not reached comes from another history; such a client needs all files.
            let since = request.since.flatMap { $0 <= group.masterVersion ? $0 : nil }
            writer.beginFiles(masterVersion: group.masterVersion, since: since)
            try session.writeFiles(of: group.membership, changedAfter: since, to: &writer) { writer in
                stream.offer(&writer.json)
            }
            writer.endFiles()
        }
        writer.beginGroups()
        for group in groups { writer.group(group) }
        writer.finish()
        return .written(writer.json)
    }
}

extension IndexRequest: ServedRequest {
    typealias Handler = IndexEndpoint
}
