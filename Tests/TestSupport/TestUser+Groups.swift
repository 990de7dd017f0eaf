import Foundation

extension TestUser {
    /// CreateSharingGroup, whatever the reply.
    public func createGroup(_ uuid: String, name: String? = nil) throws -> HTTPReply {
        try call("POST", "CreateSharingGroup", ["sharingGroupUUID": uuid, "sharingGroupName": name])
    }

    /// CreateSharingGroup with a fresh UUID, which must succeed; the UUID.
    public func newGroup(name: String? = nil) throws -> String {
        let uuid = UUID().uuidString
        let reply = try createGroup(uuid, name: name)
        guard reply.status == 200, reply.json == .object([:]) else {
            throw UnexpectedReply("CreateSharingGroup", reply)
        }
        return uuid
    }

    /// UpdateSharingGroup, whatever the reply.
    public func rename(to name: String?, masterVersion: Int64, group: String? = nil) throws -> HTTPReply {
        try call(
            "PATCH", "UpdateSharingGroup",
            [
                "sharingGroupUUID": group ?? self.group, "sharingGroupName": name,
                "masterVersion": String(masterVersion),
            ])
    }

    /// RemoveSharingGroup, whatever the reply.
    public func removeGroup(masterVersion: Int64, group: String? = nil) throws -> HTTPReply {
        try call(
            "POST", "RemoveSharingGroup",
            ["sharingGroupUUID": group ?? self.group, "masterVersion": String(masterVersion)])
    }

    /// RemoveUserFromSharingGroup, whatever the reply.
    public func leave(masterVersion: Int64, group: String? = nil) throws -> HTTPReply {
        try call(
            "POST", "RemoveUserFromSharingGroup",
            ["sharingGroupUUID": group ?? self.group, "masterVersion": String(masterVersion)])
    }

    /// RemoveUser, whatever the reply.
    public func removeAccount() throws -> HTTPReply { try call("POST", "RemoveUser") }

    /// AddUser of this person, whatever the reply.
    public func signUp(group: String? = nil) throws -> HTTPReply {
        try call(
            "POST", "AddUser",
            [
                "sharingGroupUUID": group ?? self.group,
                "cloudFolderName": account.provider == .google ? folder : nil,
            ])
    }

    /// The members of a group that this person belongs to, by their numbers.
    public func members(of group: String? = nil) throws -> Set<Int64> {
        let entry = try groups().group(group ?? self.group)
        return Set(entry?.sharingGroupUsers?.array?.compactMap { $0.userId?.integer } ?? [])
    }
}
