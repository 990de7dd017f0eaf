import SyncProtocol

/// A message with the parts of its endpoint's description that its row of the protocol's table and its parameters lack;
/// in `Endpoints`.
protocol DescribedRequest: RequestMessage {
    static var description: EndpointDescription { get }
}

extension EndpointRoute {
    /// All endpoints of release builds, in the order of the table.
    /// - Precondition: each has a description.
    static let described: [(route: EndpointRoute, description: EndpointDescription)] =
        EndpointName.allCases.map(\.route).filter { !$0.isDebugOnly }.map { route in
            guard let message = route.message as? any DescribedRequest.Type else {
                preconditionFailure("\(route.endpoint) is not described")
            }
            return (route, message.description)
        }
}

/// The parts of an endpoint's description that the route table and the messages lack.
struct EndpointDescription {
    /// One sentence.
    var summary: String
    /// Whether the group's identifier must be a real UUID.
    var isGroupUUID = false
    /// The object of a successful reply, in the body or in a header.
    var reply: JSON
    /// The statuses of successful replies with that object.
    var statuses = [200]
    /// The status of successful replies without an object; `statuses` has none then.
    var emptyStatus: Int?
    /// The body, if the endpoint accepts one.
    var body: JSON?
    /// Codes in addition to those derived from route and parameters.
    var errors: Set<ErrorCode> = []
    /// Headers of a successful reply, in addition to those of every reply.
    var replyHeaders: [String: JSON] = [:]
    /// Request headers, in addition to those for signing in.
    var requestHeaders: [RequestHeader: String] = [:]
    /// Whether a client may send a conditional request.
    var canBeNotModified = false
    /// Whether the reply can be 206, with a part of the body.
    var canBePartial = false

    /// All codes that a request to the endpoint can receive.
    func codes(_ route: EndpointRoute) -> Set<ErrorCode> {
        var codes = ErrorCode.anywhere.union(errors)
        if !route.message.parameters.names.isEmpty { codes.formUnion(ErrorCode.parameters) }
        if route.authentication != .none { codes.formUnion(ErrorCode.signingIn) }
        if route.authentication == .secondary { codes.formUnion(ErrorCode.users) }
        switch route.groupAccess {
        case .none, .membershipIfNamed: break
        case .membership: codes.insert(.notAMember)
        case .permission(let needed):
            codes.insert(.notAMember)
            if needed != .read { codes.insert(.permissionTooLow) }
        }
        return codes
    }
}
