import OpenSSLCrypto
import Store
import SyncProtocol

/// Lists the caller's sharing groups, and the files of one of them together with its master version.
///
/// Everything is read from one snapshot, so the version describes exactly the files listed. A long reply is sent while
/// its rows are read (``ReplyStream``), with the files compressed if the client accepts it. A client that names its
/// state (``EntityTag``) learns whether that is still current, and a client that names a master version gets the
/// changes after it. Reads only; may be repeated.
struct IndexEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/groupUnknown`` if the caller is not a member of the requested group.
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
            guard stream.hasStarted else {
                context.replyHeaders += stream.encodingHeaders
                return .json(stream.wholeBody(json))
            }
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
        let isCompressed = group != nil && context.head.acceptsGzip
        context.replyHeaders += [
            // Weak, because the same state is also sent uncompressed.
            (ResponseHeader.entityTag.rawValue, isCompressed ? "W/\(tag.text)" : tag.text),
            ("cache-control", "no-store"), ("vary", "accept-encoding"),
        ]
        if let known = context.head.header(.ifNoneMatch), tag.isNamed(by: known) { return .unchanged }
        stream = ReplyStream(
            on: context.connection,
            headers: context.services.commonHeaders + context.replyHeaders + [("content-type", "application/json")],
            isCompressed: isCompressed)
        var writer = IndexResponseWriter(reservingBytes: group == nil ? 4_096 : 72 * 1024)
        if let group {
            // A version that the group has not reached comes from another history; such a client needs all files.
            let since = request.since.flatMap { $0 <= group.masterVersion ? $0 : nil }
            writer.beginFiles(masterVersion: group.masterVersion, since: since)
            try session.writeFiles(of: group.membership, changedAfter: since, to: &writer) { writer in
                stream.offer(&writer.json)
            }
            writer.endFiles()
            stream.endCompression(&writer.json)
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

/// Identifies the contents of a reply: the state that Index describes, or the bytes of a file (RFC 9110, section
/// 8.8.3).
///
/// The tag of a state is computed from the caller's groups as the reply shows them, including members, permissions and
/// master versions, but not from files: what Index shows of a file changes only with its group's master version or its
/// number of repeated uploads. So the cost does not depend on the number of files.
struct EntityTag: Equatable {
    /// With its quotes, as it appears in a header.
    let text: String

    /// - Parameters:
    ///   - groups: the caller's groups, as they appear in the reply.
    ///   - request: the request, since replies differ between requests.
    ///   - reuploads: the number of repeated uploads in the group that the request names.
    init(
        groups: [SharingGroupInfo], request: IndexRequest, caller: UserID, serverVersion: String, reuploads: Int64 = 0
    ) {
        var writer = JSONWriter(reservingBytes: 1_024)
        writer.array { writer in
            // A newer server may describe the same state differently.
            writer.value(text: serverVersion)
            writer.value(caller.rawValue)
            writer.value(text: request.encodedQuery)
            for group in groups { group.write(to: &writer) }
            if reuploads > 0 { writer.value(reuploads) }
        }
        let digest = IncrementalDigest.digest(of: writer.bytes, .sha256)
        text = "\"\(Array(digest.prefix(16)).hexLowercase)\""
    }

    /// The strong tag of a file's bytes: equal tags of a file mean identical bytes.
    /// - Parameter checkSum: the bytes' checksum, in the flavour of their storage.
    init(fileVersion: FileVersion, checkSum: CheckSum) {
        text = "\"\(fileVersion.rawValue)-\(checkSum.rawValue)\""
    }

    /// Whether an `If-None-Match` header names this tag, or any.
    ///
    /// The comparison is the weak one (RFC 9110, section 13.1.2), since a proxy that compresses replies weakens their
    /// tags.
    func isNamed(by header: String) -> Bool {
        header.split(separator: ",").contains { part in
            var tag = part.drop { $0 == " " || $0 == "\t" }
            while let last = tag.last, last == " " || last == "\t" { tag.removeLast() }
            return tag == "*" || tag == text || tag == "W/\(text)"
        }
    }
}
