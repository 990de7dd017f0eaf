/// All endpoints, as spelled in paths.
public enum EndpointName: String, Sendable, Hashable, CaseIterable {
    case healthCheck = "HealthCheck"
    /// Exists in debug builds only.
    case checkPrimaryCreds = "CheckPrimaryCreds"
    case checkCreds = "CheckCreds"
    case addUser = "AddUser"
    case removeUser = "RemoveUser"
    case index = "Index"
    case changes = "Changes"
    case uploadFile = "UploadFile"
    case uploadSmallFiles = "UploadSmallFiles"
    case createUpload = "CreateUpload"
    case uploadOptions = "UploadOptions"
    case getUploadOffset = "GetUploadOffset"
    case appendToUpload = "AppendToUpload"
    case abandonUpload = "AbandonUpload"
    case uploadAppMetaData = "UploadAppMetaData"
    case uploadDeletion = "UploadDeletion"
    case getUploads = "GetUploads"
    case doneUploads = "DoneUploads"
    case downloadFile = "DownloadFile"
    case downloadAppMetaData = "DownloadAppMetaData"
    case createSharingInvitation = "CreateSharingInvitation"
    case getSharingInvitationInfo = "GetSharingInvitationInfo"
    case redeemSharingInvitation = "RedeemSharingInvitation"
    case createSharingGroup = "CreateSharingGroup"
    case updateSharingGroup = "UpdateSharingGroup"
    case removeSharingGroup = "RemoveSharingGroup"
    case removeUserFromSharingGroup = "RemoveUserFromSharingGroup"
    case registerPushNotificationToken = "RegisterPushNotificationToken"
    /// Called by Apple, not by clients.
    case appleNotifications = "AppleNotifications"
    case discardUploads = "DiscardUploads"
    case getSharingInvitations = "GetSharingInvitations"
    case revokeSharingInvitation = "RevokeSharingInvitation"
    case getSharingGroupMembers = "GetSharingGroupMembers"
    case updateSharingGroupMember = "UpdateSharingGroupMember"
    case removeSharingGroupMember = "RemoveSharingGroupMember"
    case revokeDeviceGrants = "RevokeDeviceGrants"
    case beginAccountSwitch = "BeginAccountSwitch"
    case confirmAccountSwitch = "ConfirmAccountSwitch"
    case getAccountSwitchStatus = "GetAccountSwitchStatus"
    case reuploadFile = "ReuploadFile"
    case finishAccountSwitch = "FinishAccountSwitch"
    case cancelAccountSwitch = "CancelAccountSwitch"
    case undoAccountSwitch = "UndoAccountSwitch"

    /// How the endpoint is called, and how it responds.
    public var route: EndpointRoute { EndpointRoute(self) }
}

extension EndpointRoute {
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
            case .changes: Self(ChangesRequest.self, .get, .user, .json)
            case .uploadFile: Self(UploadFileRequest.self, .post, .member(.write), .header)
            case .uploadSmallFiles: Self(UploadSmallFilesRequest.self, .post, .member(.write), .json)
            case .createUpload: Self(CreateUploadRequest.self, .post, .member(.write), .header)
            case .uploadOptions: Self(UploadOptionsRequest.self, .options, .anyone, .header)
            case .getUploadOffset: Self(GetUploadOffsetRequest.self, .head, .user, .header)
            case .appendToUpload: Self(AppendToUploadRequest.self, .patch, .member(.write), .header)
            case .abandonUpload: Self(AbandonUploadRequest.self, .delete, .user, .header)
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
            case .revokeDeviceGrants: Self(RevokeDeviceGrantsRequest.self, .post, .user, .json)
            case .beginAccountSwitch: Self(BeginAccountSwitchRequest.self, .post, .signedIn, .json)
            case .confirmAccountSwitch: Self(ConfirmAccountSwitchRequest.self, .post, .signedIn, .json)
            case .getAccountSwitchStatus: Self(GetAccountSwitchStatusRequest.self, .get, .signedIn, .json)
            case .reuploadFile: Self(ReuploadFileRequest.self, .post, .member(.write), .header)
            case .finishAccountSwitch: Self(FinishAccountSwitchRequest.self, .post, .user, .json)
            case .cancelAccountSwitch: Self(CancelAccountSwitchRequest.self, .post, .signedIn, .json)
            case .undoAccountSwitch: Self(UndoAccountSwitchRequest.self, .post, .signedIn, .json)
            }
    }
}
