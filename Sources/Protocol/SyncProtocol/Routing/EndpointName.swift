/// All endpoints, as spelled in paths.
public enum EndpointName: String, Sendable, Hashable, CaseIterable {
    case healthCheck = "HealthCheck"
    /// Exists in debug builds only.
    case checkPrimaryCreds = "CheckPrimaryCreds"
    case checkCreds = "CheckCreds"
    case addUser = "AddUser"
    case removeUser = "RemoveUser"
    case index = "Index"
    case uploadFile = "UploadFile"
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

    /// How the endpoint is called, and how it responds.
    public var route: EndpointRoute { EndpointRoute(self) }
}
