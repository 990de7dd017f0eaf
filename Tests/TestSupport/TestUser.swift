import Foundation

/// A signed-in person on one device.
///
/// This is a value: ``onAnotherDevice()`` and ``with(account:)`` return variants of the same person.
public struct TestUser: Sendable {
    /// The server that the person uses.
    public let server: TestServer
    /// The person's account at a provider.
    public var account: SandboxAccount
    /// The person's user id at the server.
    public var userID: Int64
    /// The group that they created or first joined.
    public var group: String
    /// The folder for the app's files in their storage.
    public let folder: String
    /// This device.
    public var device = UUID().uuidString

    /// Returns the same person with a new device.
    public func onAnotherDevice() -> TestUser {
        var copy = self
        copy.device = UUID().uuidString
        return copy
    }

    /// Returns the same person with other credentials.
    public func with(account: SandboxAccount) -> TestUser {
        var copy = self
        copy.account = account
        return copy
    }

    /// Returns the same person after another sign-in at the provider.
    public func signedInAgain() throws -> TestUser { with(account: try server.sandbox.account(account.id)) }

    /// Removes the user, waits until the server has revoked the grant, and returns the person after a new sign-in.
    ///
    /// For accounts whose code the server has exchanged. Before the revocation, Google would also end the new sign-in.
    public func removedAndSignedInAgain() async throws -> TestUser {
        // The account's newest refresh token is the server's.
        let granted = try server.sandbox.account(account.id).refreshToken
        let reply = try call("POST", "RemoveUser")
        guard reply.status == 200 else { throw UnexpectedReply("RemoveUser", reply) }
        // Simulates an hour.
        _ = try server.askDatabase(
            """
            UPDATE outbox SET available_at = UTC_TIMESTAMP()
             WHERE kind = 'revokeGrant' AND user_id = \(userID)
            """)
        try await eventually("the grant of \(account.name) has been revoked") {
            try server.sandbox.account(account.id).refreshToken != granted
        }
        return try signedInAgain()
    }

    /// The headers that this person's device sends with each request.
    public var headers: [(name: String, value: String)] {
        account.headers + [("SyncServer-Device-UUID", device)]
    }

    /// Makes a request with this person's credentials from this device.
    public func call(
        _ method: String, _ endpoint: String, _ parameters: [String: String?] = [:], body: [UInt8]? = nil
    ) throws -> HTTPReply {
        try server.call(method, endpoint, parameters, headers: headers, body: body)
    }

    /// Calls CheckCreds; the reply may be an error.
    public func checkCredentials() throws -> HTTPReply { try call("GET", "CheckCreds") }

    /// Calls Index, which must succeed, by default for the first group.
    public func index(of group: String? = nil) throws -> IndexReply {
        let reply = try call("GET", "Index", ["sharingGroupUUID": group ?? self.group])
        guard reply.status == 200, let json = reply.json else { throw UnexpectedReply("Index", reply) }
        return IndexReply(json)
    }

    /// Calls Index without a group, which must succeed.
    public func groups() throws -> IndexReply {
        let reply = try call("GET", "Index")
        guard reply.status == 200, let json = reply.json else { throw UnexpectedReply("Index", reply) }
        return IndexReply(json)
    }
}

/// A successful reply to Index.
public struct IndexReply: Sendable {
    /// The complete object, for checks of absent members.
    public let json: JSONValue

    init(_ json: JSONValue) { self.json = json }

    /// The master version of the requested group.
    public var masterVersion: Int64? { json.masterVersion?.integer }
    /// The files of the requested group.
    public var files: [JSONValue] { json.fileIndex?.array ?? [] }
    /// All groups of the caller.
    public var groups: [JSONValue] { json.sharingGroups?.array ?? [] }
    /// The UUIDs of the files.
    public var fileUUIDs: Set<String> { Set(files.compactMap { $0.fileUUID?.text }) }

    /// The entry of one file; nil if it is not listed exactly once.
    public func file(_ file: TestFile) -> JSONValue? {
        let entries = files.filter { $0.fileUUID?.text == file.uuid }
        return entries.count == 1 ? entries[0] : nil
    }

    /// The entry of one group; nil if it is not listed exactly once.
    public func group(_ uuid: String) -> JSONValue? {
        let entries = groups.filter { $0.sharingGroupUUID?.text == uuid }
        return entries.count == 1 ? entries[0] : nil
    }
}

extension TestUser {
    /// Returns the same person on the same device, with an app that uses another server.
    public func movedTo(_ other: TestServer) -> TestUser {
        TestUser(server: other, account: account, userID: userID, group: group, folder: folder, device: device)
    }
}
