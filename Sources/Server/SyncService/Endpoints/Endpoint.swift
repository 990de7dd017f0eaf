import SyncProtocol

/// One endpoint of the protocol.
///
/// Each endpoint documents why a duplicate request does no harm.
protocol Endpoint {
    associatedtype Request: RequestMessage where Request.Access: ServedAccess
    /// The caller, as the protocol's table requires it.
    typealias Caller = Request.Access.Caller

    /// Performs the request.
    /// - Throws: anything; ``ErrorResponse`` turns it into a reply.
    func respond(to request: Request, from caller: Caller, in context: RequestContext) throws -> EndpointReply
}

/// A successful reply, or one that the endpoint has already sent.
enum EndpointReply {
    /// A JSON object as the body. `isStale`: it reports that the request's master version is not the current one.
    case json([UInt8], isStale: Bool = false)
    /// A JSON object in the header `syncserver-message-params`, and no body.
    case header(String, isStale: Bool = false)
    /// The client's state is still current (304); no body.
    case notModified
    /// The endpoint has sent its reply itself, with this many bytes of body.
    case sent(bytes: Int64)

    static func json(_ message: some ResponseMessage) -> EndpointReply {
        .json(message.body, isStale: message.isStale)
    }
    static func header(_ message: some ResponseMessage) -> EndpointReply {
        .header(message.headerText, isStale: message.isStale)
    }
}
