import Foundation
import TestSupport

/// A person who is about to switch accounts on one device, from the account in `before` to the one in `after`.
struct AccountSwitch {
    /// The person with the former account.
    var before: TestUser
    /// The person with the new account.
    var after: TestUser
    let userAppID: String
    let grant: String

    /// Signs up a user, publishes `files`, and creates the account to switch to.
    init(
        on server: TestServer, from old: SandboxProvider = .google, to new: SandboxProvider = .dropbox,
        files: [TestFile] = []
    ) throws {
        let alice = try server.signUpOwningUser(old)
        for (index, file) in files.enumerated() { try alice.publish(file, masterVersion: Int64(index)) }
        try self.init(of: alice, to: server.newcomer(new).account)
    }

    /// Prepares a switch for an existing user.
    /// - Parameter isEstablished: whether the device's grant is old enough to begin a switch.
    init(of user: TestUser, to account: SandboxAccount, isEstablished: Bool = true) throws {
        before = user
        after = user.with(account: account)
        let reply = try user.identity()
        guard let id = reply.json?.userAppId?.text, let grant = reply.json?.deviceGrant?.text else {
            throw UnexpectedReply("CheckCreds", reply)
        }
        userAppID = id
        self.grant = grant
        if isEstablished { try user.server.establish(grant) }
    }

    /// Returns a switch of the same person, with the same grant, to another account.
    func to(_ account: SandboxAccount, leaving active: TestUser? = nil) -> AccountSwitch {
        var copy = self
        copy.before = active ?? before
        copy.after = before.with(account: account)
        return copy
    }

    /// Calls BeginAccountSwitch; the reply may be an error.
    func begin(
        grant: String? = nil, folder: String? = "New Folder", headers: [(name: String, value: String)] = []
    ) throws -> HTTPReply {
        try after.server.call(
            "POST", "BeginAccountSwitch", ["userAppId": userAppID, "cloudFolderName": folder],
            headers: after.headers + [("SyncServer-Device-Grant", grant ?? self.grant)] + headers)
    }

    /// Calls BeginAccountSwitch, which must succeed, and returns the switch's id.
    func begun() throws -> String {
        let reply = try begin()
        guard reply.status == 200, let id = reply.json?.switchId?.text else {
            throw UnexpectedReply("BeginAccountSwitch", reply)
        }
        return id
    }

    /// The header that presents credentials of the former account.
    func proof() throws -> (name: String, value: String) { try before.account.proof() }

    /// Calls ConfirmAccountSwitch, with a proof if the server is to move the files; the reply may be an error.
    func confirm(_ id: String, epoch: Int64 = 0, moving: Bool = false) throws -> HTTPReply {
        try after.server.call(
            "POST", "ConfirmAccountSwitch",
            ["switchId": id, "expectedEpoch": "\(epoch)", "moveContents": moving ? "true" : nil],
            headers: after.headers + (moving ? [proof()] : []))
    }

    /// Begins and confirms the switch, which must succeed, and returns its id.
    @discardableResult
    func perform(epoch: Int64 = 0, moving: Bool = false) throws -> String {
        let id = try begun()
        let reply = try confirm(id, epoch: epoch, moving: moving)
        guard reply.status == 200, reply.json?.accountEpoch?.integer == epoch + 1,
            reply.json?.movesContents?.bool == (moving ? true : nil)
        else {
            throw UnexpectedReply("ConfirmAccountSwitch", reply)
        }
        return id
    }

    /// Calls GetAccountSwitchStatus with the new account; the reply may be an error.
    func status(_ id: String? = nil, cursor: String? = nil) throws -> HTTPReply {
        try after.call("GET", "GetAccountSwitchStatus", ["switchId": id, "cursor": cursor])
    }

    /// Calls FinishAccountSwitch; the reply may be an error.
    func finish(_ id: String, missing: String? = nil) throws -> HTTPReply {
        try after.call("POST", "FinishAccountSwitch", ["switchId": id, "missing": missing])
    }
}

extension SandboxAccount {
    /// The header that presents this account's credentials as those of the former account.
    func proof() throws -> (name: String, value: String) {
        let headers = [
            "accessToken": "access_token", "accountID": "X-account-id",
            "microsoftAccessToken": "X-microsoft-access-token", "accountDetails": "X-account-details",
        ]
        let text = try JSONSerialization.data(
            withJSONObject: headers.compactMapValues { header($0) }, options: .sortedKeys)
        return ("SyncServer-Old-Account-Proof", String(decoding: text, as: UTF8.self))
    }
}

extension TestServer {
    /// Makes moves and the deletions that follow them due immediately, even if they are leased or postponed, as if time
    /// had passed.
    /// - Parameter user: limits the effect to this user. Tests that share a stack need it, since another test may be
    ///   uploading under such a lease.
    func endLeasesOfMoves(of user: TestUser? = nil) throws {
        let owner = user.map { "user_id = \($0.userID)" } ?? "TRUE"
        _ = try askDatabase(
            """
            UPDATE account_moves SET available_at = available_at - INTERVAL 1 HOUR WHERE state = 'moving' AND \(owner);
            UPDATE moving_contents SET available_at = available_at - INTERVAL 1 HOUR
             WHERE switch_uuid IN (SELECT switch_uuid FROM account_moves WHERE \(owner));
            UPDATE outbox SET available_at = available_at - INTERVAL 1 HOUR WHERE \(owner)
            """)
    }
}

extension TestUser {
    /// Calls ReuploadFile; the reply may be an error.
    func reupload(
        _ file: TestFile, sending contents: [UInt8]? = nil, overriding: [String: String?] = [:]
    ) throws -> HTTPReply {
        let parameters: [String: String?] = [
            "fileUUID": file.uuid, "sharingGroupUUID": group, "fileVersion": "\(file.version)",
            "mimeType": file.mimeType, "checkSum": file.checkSum,
        ]
        return try call(
            "POST", "ReuploadFile", parameters.merging(overriding) { $1 }, body: contents ?? file.contents)
    }
}
