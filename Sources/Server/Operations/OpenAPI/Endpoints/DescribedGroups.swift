import SyncProtocol

extension CreateSharingInvitationRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Creates an invitation, valid for a day.",
        reply: Schemas.object(["sharingInvitationUUID": Schemas.uuid]),
        errors: [.ownerMissing, .quotaInvitations, .quotaInvitationRate])
}

extension GetSharingInvitationInfoRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Returns what an invitation offers, and who invites to which group.",
        reply: Schemas.object(
            ["permission": Schemas.permission, "allowSocialAcceptance": Schemas.bool],
            optional: ["sharingGroupName": Schemas.text, "invitingUserName": Schemas.text]),
        errors: [.invitationGone])
}

extension RedeemSharingInvitationRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Makes the caller a member, and first creates their user if necessary.",
        reply: Schemas.object(
            ["userId": Schemas.int64, "sharingGroupUUID": Schemas.identifier], optional: Schemas.identity),
        errors: ErrorCode.exchange.union([
            .invitationUnknown, .storageAccountRequired, .alreadyMember, .ownerMissing, .notAMember, .quotaGroups,
            .accountRetired, .userUnknown,
        ]),
        replyHeaders: [ResponseHeader.accessToken.rawValue: ["schema": Schemas.text]],
        requestHeaders: IdentityHeaders.grant)
}

extension CreateSharingGroupRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Creates a group whose only member is the caller.",
        reply: Schemas.empty, errors: [.groupExists, .owningAccountRequired, .quotaGroups, .quotaGroupRate])
}

extension UpdateSharingGroupRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Renames a group.",
        reply: Schemas.orStale(Schemas.empty))
}

extension RemoveSharingGroupRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Removes a group for all its members.",
        reply: Schemas.orStale(Schemas.empty))
}

extension RemoveUserFromSharingGroupRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Removes the caller from a group.",
        reply: Schemas.orStale(Schemas.empty), errors: [.lastAdmin])
}

extension GetSharingInvitationsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Lists the open invitations to a group.",
        reply: Schemas.object(["sharingInvitations": Schemas.array(of: Schemas.reference("Invitation"))]))
}

extension RevokeSharingInvitationRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Withdraws an invitation.",
        reply: Schemas.empty, errors: [.invitationUnknown])
}

extension GetSharingGroupMembersRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Lists the members of a group.",
        reply: Schemas.object([
            "masterVersion": Schemas.int64,
            "sharingGroupMembers": Schemas.array(of: Schemas.reference("GroupMember")),
        ]))
}

extension UpdateSharingGroupMemberRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Changes a member's permission.",
        reply: Schemas.orStale(Schemas.empty), errors: [.memberUnknown, .lastAdmin])
}

extension RemoveSharingGroupMemberRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Removes a member from a group.",
        reply: Schemas.orStale(Schemas.empty), errors: [.memberUnknown, .lastAdmin])
}
