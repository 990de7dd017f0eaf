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
