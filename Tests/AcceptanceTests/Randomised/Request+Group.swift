import SyncModel

extension Request {
    /// The group that the request names; nil if none.
    var group: String? {
        switch self {
        case .healthCheck, .checkPrimaryCreds, .checkCreds, .removeUser, .getSharingInvitationInfo,
            .redeemSharingInvitation, .registerPushNotificationToken, .confirmAccountSwitch, .finishAccountSwitch,
            .getAccountSwitchStatus:
            nil
        case .index(let group, _): group
        case .addUser(let group, _, _), .getUploads(let group), .createSharingInvitation(let group, _, _, _),
            .createSharingGroup(let group, _), .discardUploads(let group, _, _), .getSharingInvitations(let group),
            .revokeSharingInvitation(let group, _), .getSharingGroupMembers(let group):
            group
        case .uploadFile(let upload): upload.group.group
        case .reuploadFile(let upload): upload.group
        case .uploadAppMetaData(let file, _, _), .uploadDeletion(let file, _, _), .downloadFile(let file, _, _),
            .downloadAppMetaData(let file, _):
            file.group.group
        case .doneUploads(let group, _, _, _), .updateSharingGroup(let group, _), .removeSharingGroup(let group),
            .removeUserFromSharingGroup(let group), .updateSharingGroupMember(let group, _, _),
            .removeSharingGroupMember(let group, _):
            group.group
        }
    }
}
