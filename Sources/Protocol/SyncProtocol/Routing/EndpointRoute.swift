/// How one endpoint is called, who may call it, and how it responds.
public struct EndpointRoute: Sendable {
    /// The HTTP methods used.
    public enum Method: String, Sendable, Hashable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
        case head = "HEAD"
        case options = "OPTIONS"
    }

    /// The authentication that a caller needs.
    public enum Authentication: Sendable, Hashable {
        /// None; credentials are ignored.
        case none
        /// A valid third-party token. The user need not exist yet.
        case primary
        /// A valid third-party token of an existing user.
        case secondary
    }

    /// The location of the reply's JSON object.
    public enum ResponseKind: Sendable, Hashable {
        /// In the body.
        case json
        /// In the header `syncserver-message-params`; the body is empty.
        case header
        /// In the header `syncserver-message-params`; the body is a file's bytes, or empty.
        case data
    }

    /// The check of the sharing group that a request names.
    public enum GroupAccess: Sendable, Hashable {
        /// None: there is no group, or it is being created.
        case none
        /// Membership, with any permission, if a group is named; otherwise 404.
        case membershipIfNamed
        /// Membership, with any permission.
        case membership
        /// Membership with at least this permission.
        case permission(Permission)
    }

    /// The message that the endpoint accepts.
    public let message: any RequestMessage.Type
    /// The only method with which it may be called.
    public let method: Method
    /// The authentication that a caller needs.
    public let authentication: Authentication
    /// The check of the sharing group.
    public let groupAccess: GroupAccess
    /// The location of the reply's JSON object.
    public let responseKind: ResponseKind

    /// The endpoint.
    public var endpoint: EndpointName { message.endpoint }

    /// Whether the endpoint exists in debug builds only.
    public var isDebugOnly: Bool { endpoint == .checkPrimaryCreds }

    /// Creates a row; its access has the type that the message names.
    init<Message: RequestMessage>(
        _ message: Message.Type, _ method: Method, _ access: Message.Access, _ responseKind: ResponseKind
    ) {
        self.message = message
        self.method = method
        authentication = Message.Access.authentication
        groupAccess = access.groupAccess
        self.responseKind = responseKind
    }
}

extension EndpointRoute: Hashable {
    /// Whether both are the same endpoint's row, since each endpoint has one row.
    public static func == (first: EndpointRoute, second: EndpointRoute) -> Bool { first.endpoint == second.endpoint }

    public func hash(into hasher: inout Hasher) { hasher.combine(endpoint) }
}
