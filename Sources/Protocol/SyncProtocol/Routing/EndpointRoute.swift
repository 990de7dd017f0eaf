/// How one endpoint is called, who may call it, and how it is answered.
public struct EndpointRoute: Sendable, Hashable {
    /// The HTTP methods in use.
    public enum Method: String, Sendable, Hashable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// What a caller has to show.
    public enum Authentication: Sendable, Hashable {
        /// Nothing; credentials are not even looked at.
        case none
        /// A valid third-party token. The user need not exist yet.
        case primary
        /// A valid third-party token of an existing user.
        case secondary
    }

    /// Where the reply's JSON object stands.
    public enum ResponseKind: Sendable, Hashable {
        /// In the body.
        case json
        /// In the header `syncserver-message-params`; the body is empty.
        case header
        /// In the header `syncserver-message-params`; the body is a file's bytes, or empty.
        case data
    }

    /// What is checked about the sharing group that a request names, before the endpoint's own work.
    public enum GroupAccess: Sendable, Hashable {
        /// Nothing: there is no group, or it is just being made.
        case none
        /// Nothing; the endpoint checks membership itself, if a group is named.
        case checkedByEndpoint
        /// Membership, with any permission.
        case membership
        /// Membership with at least this permission.
        case permission(Permission)
    }

    /// The endpoint.
    public let endpoint: EndpointName
    /// The only method with which it may be called.
    public let method: Method
    /// What a caller has to show.
    public let authentication: Authentication
    /// What is checked about the sharing group.
    public let groupAccess: GroupAccess
    /// Where the reply's JSON object stands.
    public let responseKind: ResponseKind

    /// Whether the endpoint exists in debug builds only.
    public var isDebugOnly: Bool { endpoint == .checkPrimaryCreds }

    /// The row of the protocol's table for `endpoint`.
    public init(_ endpoint: EndpointName) {
        self.endpoint = endpoint
        (method, authentication, groupAccess, responseKind) =
            switch endpoint {
            case .healthCheck: (.get, .none, .none, .json)
            case .checkPrimaryCreds: (.get, .primary, .none, .json)
            case .checkCreds: (.get, .secondary, .none, .json)
            case .addUser: (.post, .primary, .none, .json)
            case .removeUser: (.post, .secondary, .none, .json)
            case .index: (.get, .secondary, .checkedByEndpoint, .json)
            case .uploadFile: (.post, .secondary, .permission(.write), .header)
            case .uploadAppMetaData: (.post, .secondary, .permission(.write), .json)
            case .uploadDeletion: (.delete, .secondary, .permission(.write), .json)
            case .getUploads: (.get, .secondary, .permission(.write), .json)
            case .doneUploads: (.post, .secondary, .permission(.write), .json)
            case .downloadFile: (.get, .secondary, .permission(.read), .data)
            case .downloadAppMetaData: (.get, .secondary, .permission(.read), .json)
            case .createSharingInvitation: (.post, .secondary, .permission(.admin), .json)
            case .getSharingInvitationInfo: (.get, .none, .none, .json)
            case .redeemSharingInvitation: (.post, .primary, .none, .json)
            case .createSharingGroup: (.post, .secondary, .none, .json)
            case .updateSharingGroup: (.patch, .secondary, .permission(.admin), .json)
            case .removeSharingGroup: (.post, .secondary, .permission(.admin), .json)
            case .removeUserFromSharingGroup: (.post, .secondary, .membership, .json)
            case .registerPushNotificationToken: (.post, .secondary, .none, .json)
            case .appleNotifications: (.post, .none, .none, .json)
            case .discardUploads: (.post, .secondary, .permission(.write), .json)
            case .getSharingInvitations: (.get, .secondary, .permission(.admin), .json)
            case .revokeSharingInvitation: (.post, .secondary, .permission(.admin), .json)
            case .getSharingGroupMembers: (.get, .secondary, .permission(.read), .json)
            case .updateSharingGroupMember: (.patch, .secondary, .permission(.admin), .json)
            case .removeSharingGroupMember: (.post, .secondary, .permission(.admin), .json)
            }
    }
}
