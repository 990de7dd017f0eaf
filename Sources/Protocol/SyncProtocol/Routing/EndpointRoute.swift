/// How one endpoint is called, who may call it, and how it responds.
public struct EndpointRoute: Sendable, Hashable {
    /// The HTTP methods used.
    public enum Method: String, Sendable, Hashable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
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

    /// What is checked about the sharing group that a request names.
    public enum GroupAccess: Sendable, Hashable {
        /// Nothing: there is no group, or it is being created.
        case none
        /// Membership, with any permission, if a group is named; otherwise 404.
        case membershipIfNamed
        /// Membership, with any permission.
        case membership
        /// Membership with at least this permission.
        case permission(Permission)
    }

    /// The endpoint.
    public let endpoint: EndpointName
    /// The only method with which it may be called.
    public let method: Method
    /// The authentication that a caller needs.
    public let authentication: Authentication
    /// What is checked about the sharing group.
    public let groupAccess: GroupAccess
    /// The location of the reply's JSON object.
    public let responseKind: ResponseKind

    /// Whether the endpoint exists in debug builds only.
    public var isDebugOnly: Bool { endpoint == .checkPrimaryCreds }

    /// The row of the protocol's table for `endpoint`.
    public init(_ endpoint: EndpointName) {
        self =
            switch endpoint {
            case .healthCheck: Self(HealthCheckRequest.self, .get, .anyone, .json)
            case .checkPrimaryCreds: Self(CheckPrimaryCredsRequest.self, .get, .signedIn, .json)
            case .checkCreds: Self(CheckCredsRequest.self, .get, .user, .json)
            case .addUser: Self(AddUserRequest.self, .post, .signedIn, .json)
            case .removeUser: Self(RemoveUserRequest.self, .post, .user, .json)
            case .index: Self(IndexRequest.self, .get, .memberIfGroupNamed, .json)
            case .uploadFile: Self(UploadFileRequest.self, .post, .member(.write), .header)
            case .uploadAppMetaData: Self(UploadAppMetaDataRequest.self, .post, .member(.write), .json)
            case .uploadDeletion: Self(UploadDeletionRequest.self, .delete, .member(.write), .json)
            case .getUploads: Self(GetUploadsRequest.self, .get, .member(.write), .json)
            case .doneUploads: Self(DoneUploadsRequest.self, .post, .member(.write), .json)
            case .downloadFile: Self(DownloadFileRequest.self, .get, .member(.read), .data)
            case .downloadAppMetaData: Self(DownloadAppMetaDataRequest.self, .get, .member(.read), .json)
            case .createSharingInvitation: Self(CreateSharingInvitationRequest.self, .post, .member(.admin), .json)
            case .getSharingInvitationInfo: Self(GetSharingInvitationInfoRequest.self, .get, .anyone, .json)
            case .redeemSharingInvitation: Self(RedeemSharingInvitationRequest.self, .post, .signedIn, .json)
            case .createSharingGroup: Self(CreateSharingGroupRequest.self, .post, .user, .json)
            case .updateSharingGroup: Self(UpdateSharingGroupRequest.self, .patch, .member(.admin), .json)
            case .removeSharingGroup: Self(RemoveSharingGroupRequest.self, .post, .member(.admin), .json)
            case .removeUserFromSharingGroup: Self(RemoveUserFromSharingGroupRequest.self, .post, .anyMember, .json)
            case .registerPushNotificationToken: Self(RegisterPushNotificationTokenRequest.self, .post, .user, .json)
            case .appleNotifications: Self(AppleNotificationsRequest.self, .post, .anyone, .json)
            case .discardUploads: Self(DiscardUploadsRequest.self, .post, .member(.write), .json)
            case .getSharingInvitations: Self(GetSharingInvitationsRequest.self, .get, .member(.admin), .json)
            case .revokeSharingInvitation: Self(RevokeSharingInvitationRequest.self, .post, .member(.admin), .json)
            case .getSharingGroupMembers: Self(GetSharingGroupMembersRequest.self, .get, .member(.read), .json)
            case .updateSharingGroupMember: Self(UpdateSharingGroupMemberRequest.self, .patch, .member(.admin), .json)
            case .removeSharingGroupMember: Self(RemoveSharingGroupMemberRequest.self, .post, .member(.admin), .json)
            }
    }

    /// Creates a row: its access has the type that the message names.
    private init<Message: RequestMessage>(
        _ message: Message.Type, _ method: Method, _ access: Message.Access, _ responseKind: ResponseKind
    ) {
        endpoint = Message.endpoint
        self.method = method
        authentication = Message.Access.authentication
        groupAccess = access.groupAccess
        self.responseKind = responseKind
    }
}
