import SyncProtocol

/// One endpoint of the protocol.
///
/// Each endpoint documents why a duplicate request does no harm.
protocol Endpoint {
    associatedtype Request: RequestMessage where Request.Access: ServedAccess
    /// The caller, as the protocol's table requires it.
    typealias Caller = Request.Access.Caller

    /// An endpoint has no state: each request gets its own instance.
    init()

    /// Performs the request.
    /// - Throws: any error; ``ErrorResponse`` turns it into a reply.
    func respond(to request: Request, from caller: Caller, in context: RequestContext) throws -> EndpointReply
}

/// A message with its endpoint; the router finds the endpoint by the message that the protocol's table names.
protocol ServedRequest: RequestMessage where Access: ServedAccess {
    associatedtype Handler: Endpoint where Handler.Request == Self
}

extension ServedRequest {
    typealias Caller = Access.Caller

    /// Checks a request in the order that determines which of several errors is reported: token, parameters, user.
    /// - Parameter route: the endpoint's row of the table.
    static func receive(
        at route: EndpointRoute, in context: RequestContext
    ) throws -> (person: Access.Person, request: Self, caller: Caller) {
        let person = try Access.person(asking: context)
        let request = try Self(query: context.head.query)
        return (person, request, try Access.caller(person, at: route, in: context))
    }

    /// Checks a request, and returns the remaining work.
    static func check(at route: EndpointRoute, in context: RequestContext) throws -> () throws -> EndpointReply {
        let (_, request, caller) = try receive(at: route, in: context)
        try DebuggingAids.failIfAsked(by: context.head)
        return { try Handler().respond(to: request, from: caller, in: context) }
    }
}

/// A successful reply, or one that the endpoint has already sent.
enum EndpointReply {
    /// A JSON object as the body. `isStale`: it reports that the request's master version is not the current one.
    case json([UInt8], isStale: Bool = false)
    /// A JSON object in the header `syncserver-message-params`, and no body.
    case header(String, isStale: Bool = false, status: Int = 200)
    /// Neither an object nor a body.
    case empty(status: Int)
    /// The client's state is still current (304); no body.
    case notModified
    /// The endpoint has sent its reply itself, with this many bytes of body.
    case sent(bytes: Int64, status: Int = 200)

    static func json(_ message: some ResponseMessage) -> EndpointReply {
        .json(message.body, isStale: message.isStale)
    }
    static func header(_ message: some ResponseMessage, status: Int = 200) -> EndpointReply {
        .header(message.headerText, isStale: message.isStale, status: status)
    }
}
