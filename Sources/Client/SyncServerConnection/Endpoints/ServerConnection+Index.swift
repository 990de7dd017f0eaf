import HTTPTypes
public import SyncProtocol

extension ServerConnection {
    /// Lists the caller's sharing groups, and the files of one of them if requested.
    ///
    /// A server without extensions lists all files, regardless of `since`: ``IndexResponse/Files/since`` of the reply
    /// shows this.
    /// - Parameter entityTag: The entity tag of an earlier reply to the same request; if nothing has changed since, the
    ///   outcome is ``IndexOutcome/unchanged``.
    /// - Throws: ``ServerConnectionError/Code/refused`` with ``ErrorCode/groupUnknown`` for a group that the
    ///   caller is not a member of, among others.
    public func index(
        _ request: IndexRequest, ifChangedFrom entityTag: String? = nil
    ) async throws(ServerConnectionError) -> IndexOutcome {
        var call = Call(request, repetition: .always)
        if let entityTag {
            call.headers[RequestHeader.ifNoneMatch.fieldName] = entityTag
            call.expectedStatuses = [304]
        }
        return try await perform(call) { reply throws(ServerConnectionError) in
            if reply.response.status.code == 304 { return .unchanged }
            return .changed(try reply.message(of: .index), entityTag: reply.header(.entityTag))
        }
    }
}
