/// The permission of a group's member.
public enum TestPermission: String, Sendable, CaseIterable {
    case read
    case write
    case admin
}

extension TestUser {
    /// Calls CreateSharingInvitation; the reply may be an error.
    public func createInvitation(
        permission: String? = "write", group: String? = nil, overriding: [String: String?] = [:]
    ) throws -> HTTPReply {
        let parameters: [String: String?] = [
            "permission": permission, "sharingGroupUUID": group ?? self.group, "allowSocialAcceptance": "1",
            "numberOfAcceptors": "1",
        ]
        return try call("POST", "CreateSharingInvitation", parameters.merging(overriding) { $1 })
    }

    /// Calls CreateSharingInvitation, which must succeed, and returns the invitation's code.
    public func invite(
        _ permission: TestPermission = .write, group: String? = nil, allowSocialAcceptance: Bool = true,
        acceptors: Int = 1
    ) throws -> String {
        let reply = try createInvitation(
            permission: permission.rawValue, group: group,
            overriding: [
                "allowSocialAcceptance": allowSocialAcceptance ? "1" : "0", "numberOfAcceptors": String(acceptors),
            ])
        guard reply.status == 200, let code = reply.json?.sharingInvitationUUID?.text else {
            throw UnexpectedReply("CreateSharingInvitation", reply)
        }
        return code
    }

    /// Calls RedeemSharingInvitation, with a folder name if this person's storage requires one; the reply may be an
    /// error.
    public func redeem(_ invitation: String) throws -> HTTPReply {
        try call(
            "POST", "RedeemSharingInvitation",
            [
                "sharingInvitationUUID": invitation,
                "cloudFolderName": account.provider == .google || account.provider == .webdav ? folder : nil,
            ])
    }

    /// Adds a new user to this person's group, which raises the group's master version by one.
    public func newMember(
        _ permission: TestPermission, provider: SandboxProvider = .facebook, name: String = "Bob Example"
    ) throws -> TestUser {
        try server.signUpInvitedUser(invite(permission), provider: provider, name: name)
    }
}
