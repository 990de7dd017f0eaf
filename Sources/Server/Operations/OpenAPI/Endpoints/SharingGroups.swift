import SyncProtocol

extension EndpointDescription {
    static let createSharingInvitation = EndpointDescription(
        summary: "Makes an invitation, good for a day.", parameters: CreateSharingInvitationRequest.parameters,
        reply: Schemas.object(["sharingInvitationUUID": Schemas.uuid]),
        errors: [.ownerMissing, .quotaInvitations, .quotaInvitationRate])

    static let getSharingInvitationInfo = EndpointDescription(
        summary: "Says what an invitation offers.", parameters: GetSharingInvitationInfoRequest.parameters,
        reply: Schemas.object(["permission": Schemas.permission, "allowSocialAcceptance": Schemas.bool]),
        errors: [.invitationGone])

    static let redeemSharingInvitation = EndpointDescription(
        summary: "Makes the caller a member, and a user if they are none.",
        parameters: RedeemSharingInvitationRequest.parameters,
        reply: Schemas.object(["userId": Schemas.int64, "sharingGroupUUID": Schemas.identifier]),
        errors: ErrorCode.exchange.union([
            .invitationUnknown, .storageAccountRequired, .alreadyMember, .ownerMissing, .notAMember, .quotaGroups,
        ]),
        replyHeaders: [ResponseHeader.accessToken.rawValue: ["schema": Schemas.text]])

    static let createSharingGroup = EndpointDescription(
        summary: "Makes a group whose only member is the caller.", parameters: CreateSharingGroupRequest.parameters,
        reply: Schemas.empty, errors: [.groupExists, .owningAccountRequired, .quotaGroups, .quotaGroupRate])

    static let updateSharingGroup = EndpointDescription(
        summary: "Renames a group.", parameters: UpdateSharingGroupRequest.parameters,
        reply: Schemas.orStale(Schemas.empty))

    static let removeSharingGroup = EndpointDescription(
        summary: "Removes a group for all its members.", parameters: RemoveSharingGroupRequest.parameters,
        reply: Schemas.orStale(Schemas.empty))

    static let removeUserFromSharingGroup = EndpointDescription(
        summary: "Takes the caller out of a group.", parameters: RemoveUserFromSharingGroupRequest.parameters,
        reply: Schemas.orStale(Schemas.empty), errors: [.lastAdmin])

    static let getSharingInvitations = EndpointDescription(
        summary: "Lists the open invitations to a group.", parameters: GetSharingInvitationsRequest.parameters,
        reply: Schemas.object(["sharingInvitations": Schemas.array(of: Schemas.reference("Invitation"))]))

    static let revokeSharingInvitation = EndpointDescription(
        summary: "Withdraws an invitation.", parameters: RevokeSharingInvitationRequest.parameters,
        reply: Schemas.empty, errors: [.invitationUnknown])

    static let getSharingGroupMembers = EndpointDescription(
        summary: "Lists the members of a group.", parameters: GetSharingGroupMembersRequest.parameters,
        reply: Schemas.object([
            "masterVersion": Schemas.int64,
            "sharingGroupMembers": Schemas.array(of: Schemas.reference("GroupMember")),
        ]))

    static let updateSharingGroupMember = EndpointDescription(
        summary: "Changes what a member may do.", parameters: UpdateSharingGroupMemberRequest.parameters,
        reply: Schemas.orStale(Schemas.empty), errors: [.memberUnknown, .lastAdmin])

    static let removeSharingGroupMember = EndpointDescription(
        summary: "Takes a member out of a group.", parameters: RemoveSharingGroupMemberRequest.parameters,
        reply: Schemas.orStale(Schemas.empty), errors: [.memberUnknown, .lastAdmin])
}
