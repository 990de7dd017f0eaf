import Foundation

/// A signed-in person on one device.
///
/// A value: ``onAnotherDevice()`` and ``with(account:)`` make variants of the same person.
public struct TestUser: Sendable {
    /// The server that the person uses.
    public let server: TestServer
    /// The person's account at a provider.
    public var account: SandboxAccount
    /// The server's number for the person.
    public var userID: Int64
    /// The group they created or first joined.
    public var group: String
    /// The folder in their storage that the app's files go to.
    public let folder: String
    /// This device.
    public var device = UUID().uuidString

    /// The same person with a new device.
    public func onAnotherDevice() -> TestUser {
        var copy = self
        copy.device = UUID().uuidString
        return copy
    }

    /// The same person with other credentials.
    public func with(account: SandboxAccount) -> TestUser {
        var copy = self
        copy.account = account
        return copy
    }

    /// The same person, signed in at the provider once more.
    public func signedInAgain() throws -> TestUser { with(account: try server.sandbox.account(account.id)) }

    /// The same person, removed, and signed in again after the provider was told that they left.
    ///
    /// For accounts whose code the server has exchanged; before that moment Google would end the new sign-in too.
    public func removedAndSignedInAgain() async throws -> TestUser {
        // The server's, as the newest one of the account.
        let granted = try server.sandbox.account(account.id).refreshToken
        let reply = try call("POST", "RemoveUser")
        guard reply.status == 200 else { throw UnexpectedReply("RemoveUser", reply) }
        // An hour later.
        _ = try server.askDatabase(
            """
            UPDATE outbox SET available_at = UTC_TIMESTAMP()
             WHERE kind = 'revokeGrant' AND user_id = \(userID)
            """)
        try await eventually("the provider was told that \(account.name) left") {
            try server.sandbox.account(account.id).refreshToken != granted
        }
        return try signedInAgain()
    }

    /// What this person's device sends with each request.
    public var headers: [(name: String, value: String)] {
        account.headers + [("SyncServer-Device-UUID", device)]
    }

    /// Makes a request with this person's credentials from this device.
    public func call(
        _ method: String, _ endpoint: String, _ parameters: [String: String?] = [:], body: [UInt8]? = nil
    ) throws -> HTTPReply {
        try server.call(method, endpoint, parameters, headers: headers, body: body)
    }

    /// CheckCreds, whatever the reply.
    public func checkCredentials() throws -> HTTPReply { try call("GET", "CheckCreds") }

    /// Index, which must succeed; of the first group unless told otherwise.
    public func index(of group: String? = nil) throws -> IndexReply {
        let reply = try call("GET", "Index", ["sharingGroupUUID": group ?? self.group])
        guard reply.status == 200, let json = reply.json else { throw UnexpectedReply("Index", reply) }
        return IndexReply(json)
    }

    /// Index without a group, which must succeed.
    public func groups() throws -> IndexReply {
        let reply = try call("GET", "Index")
        guard reply.status == 200, let json = reply.json else { throw UnexpectedReply("Index", reply) }
        return IndexReply(json)
    }
}

/// A successful reply to Index.
public struct IndexReply: Sendable {
    /// The whole object, to see what is absent.
    public let json: JSONValue

    init(_ json: JSONValue) { self.json = json }

    /// The version of the group asked for.
    public var masterVersion: Int64? { json.masterVersion?.integer }
    /// The files of the group asked for.
    public var files: [JSONValue] { json.fileIndex?.array ?? [] }
    /// All groups of the caller.
    public var groups: [JSONValue] { json.sharingGroups?.array ?? [] }
    /// The identifiers of the files.
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
    /// The same person on the same device, whose app now talks to another server.
    public func movedTo(_ other: TestServer) -> TestUser {
        TestUser(server: other, account: account, userID: userID, group: group, folder: folder, device: device)
    }
}
