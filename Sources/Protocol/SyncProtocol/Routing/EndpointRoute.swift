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

/// Who may call an endpoint: the type determines the authentication that a caller needs, the value the check of the
/// sharing group. Each ``RequestMessage`` names its type, so a row of ``EndpointRoute``'s table and the server's
/// implementation must agree to compile.
public protocol EndpointAccess: Sendable, Hashable {
    /// The authentication that a caller needs.
    static var authentication: EndpointRoute.Authentication { get }
    /// The check of the sharing group.
    var groupAccess: EndpointRoute.GroupAccess { get }
}

extension EndpointAccess {
    public var groupAccess: EndpointRoute.GroupAccess { .none }
}

/// Anyone: credentials are ignored.
public struct AnyoneAccess: EndpointAccess {
    public static let authentication = EndpointRoute.Authentication.none
    /// The only value.
    public static let anyone = AnyoneAccess()
}

/// Callers with a valid third-party token; they need not be users yet.
public struct SignedInAccess: EndpointAccess {
    public static let authentication = EndpointRoute.Authentication.primary
    /// The only value.
    public static let signedIn = SignedInAccess()
}

/// Users, about themselves or a group that is being created.
public struct UserAccess: EndpointAccess {
    public static let authentication = EndpointRoute.Authentication.secondary
    /// The only value.
    public static let user = UserAccess()
}

/// Users, about a sharing group that they are members of.
public struct MemberAccess: EndpointAccess {
    public static let authentication = EndpointRoute.Authentication.secondary
    public let groupAccess: EndpointRoute.GroupAccess

    /// A member with at least this permission.
    public static func member(_ permission: Permission) -> MemberAccess {
        MemberAccess(groupAccess: .permission(permission))
    }
    /// A member with any permission.
    public static let anyMember = MemberAccess(groupAccess: .membership)
    /// A member, if the request names a group; 404 if not.
    public static let memberIfGroupNamed = MemberAccess(groupAccess: .membershipIfNamed)
}

/// The outcome of looking up the endpoint of a request.
public enum RouteLookup: Sendable, Hashable {
    /// The endpoint of the request.
    case found(EndpointRoute)
    /// The path is known, but requires another method (405); the value belongs in the `Allow` header.
    case methodNotAllowed(allowed: EndpointRoute.Method)
    /// There is no such path (404).
    case unknownPath

    /// Looks up an endpoint by method and path, both case-sensitive.
    /// - Parameters:
    ///   - method: The HTTP method, in capitals as received.
    ///   - path: The decoded path without query: `/Index/` as clients send it, or `/Index`.
    ///   - prefix: The text before the endpoint's name in all paths, without a trailing slash; normally empty.
    ///   - debug: Whether endpoints of debug builds exist.
    public init(method: String, path: String, prefix: String = "", debug: Bool = false) {
        guard path.hasPrefix(prefix) else {
            self = .unknownPath
            return
        }
        var name = path.dropFirst(prefix.count)
        guard name.popFirst() == "/" else {
            self = .unknownPath
            return
        }
        if name.last == "/" { name.removeLast() }
        guard let route = EndpointName(rawValue: String(name))?.route, debug || !route.isDebugOnly else {
            self = .unknownPath
            return
        }
        self = route.method.rawValue == method ? .found(route) : .methodNotAllowed(allowed: route.method)
    }
}
