import Foundation

extension TestUser {
    /// Calls CreateSharingGroup; the reply may be an error.
    public func createGroup(_ uuid: String, name: String? = nil) throws -> HTTPReply {
        try call("POST", "CreateSharingGroup", ["sharingGroupUUID": uuid, "sharingGroupName": name])
    }

    /// Calls CreateSharingGroup with a new UUID, which must succeed, and returns the UUID.
    public func newGroup(name: String? = nil) throws -> String {
        let uuid = UUID().uuidString
        let reply = try createGroup(uuid, name: name)
        guard reply.status == 200, reply.json == .object([:]) else {
            throw UnexpectedReply("CreateSharingGroup", reply)
        }
        return uuid
    }

    /// Calls UpdateSharingGroup; the reply may be an error.
    public func rename(to name: String?, masterVersion: Int64, group: String? = nil) throws -> HTTPReply {
        try call(
            "PATCH", "UpdateSharingGroup",
            [
                "sharingGroupUUID": group ?? self.group, "sharingGroupName": name,
                "masterVersion": String(masterVersion),
            ])
    }

    /// Calls RemoveSharingGroup; the reply may be an error.
    public func removeGroup(masterVersion: Int64, group: String? = nil) throws -> HTTPReply {
        try call(
            "POST", "RemoveSharingGroup",
            ["sharingGroupUUID": group ?? self.group, "masterVersion": String(masterVersion)])
    }

    /// Calls RemoveUserFromSharingGroup; the reply may be an error.
    public func leave(masterVersion: Int64, group: String? = nil) throws -> HTTPReply {
        try call(
            "POST", "RemoveUserFromSharingGroup",
            ["sharingGroupUUID": group ?? self.group, "masterVersion": String(masterVersion)])
    }

    /// Calls RemoveUser; the reply may be an error.
    public func removeAccount() throws -> HTTPReply { try call("POST", "RemoveUser") }

    /// Calls AddUser for this person; the reply may be an error.
    public func signUp(group: String? = nil) throws -> HTTPReply {
        try call(
            "POST", "AddUser",
            [
                "sharingGroupUUID": group ?? self.group,
                "cloudFolderName": account.provider == .google ? folder : nil,
            ])
    }

    /// The user ids of the members of one of this person's groups.
    public func members(of group: String? = nil) throws -> Set<Int64> {
        let entry = try groups().group(group ?? self.group)
        return Set(entry?.sharingGroupUsers?.array?.compactMap { $0.userId?.integer } ?? [])
    }
}
