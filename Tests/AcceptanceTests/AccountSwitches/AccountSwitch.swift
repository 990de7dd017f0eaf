import Foundation
import TestSupport

/// A person who is about to switch accounts: before with one account, after with another, on the same device.
struct AccountSwitch {
    /// With the account that is left.
    var before: TestUser
    /// With the account that is switched to.
    var after: TestUser
    let userAppID: String
    let grant: String

    /// Signs somebody up who has published `files`, and creates the account that they will switch to.
    init(
        on server: TestServer, from old: SandboxProvider = .google, to new: SandboxProvider = .dropbox,
        files: [TestFile] = []
    ) throws {
        let alice = try server.signUpOwningUser(old)
        for (index, file) in files.enumerated() { try alice.publish(file, masterVersion: Int64(index)) }
        try self.init(of: alice, to: server.newcomer(new).account)
    }

    /// The same for somebody who is a user already.
    /// - Parameter isEstablished: whether the device has had its grant for long enough to begin a switch.
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

    /// The switch of the same person, with the same grant, to another account.
    func to(_ account: SandboxAccount, leaving active: TestUser? = nil) -> AccountSwitch {
        var copy = self
        copy.before = active ?? before
        copy.after = before.with(account: account)
        return copy
    }

    /// BeginAccountSwitch, whatever the reply.
    func begin(
        grant: String? = nil, folder: String? = "New Folder", headers: [(name: String, value: String)] = []
    ) throws -> HTTPReply {
        try after.server.call(
            "POST", "BeginAccountSwitch", ["userAppId": userAppID, "cloudFolderName": folder],
            headers: after.headers + [("SyncServer-Device-Grant", grant ?? self.grant)] + headers)
    }

    /// BeginAccountSwitch, which must succeed; the number of the switch.
    func begun() throws -> String {
        let reply = try begin()
        guard reply.status == 200, let id = reply.json?.switchId?.text else {
            throw UnexpectedReply("BeginAccountSwitch", reply)
        }
        return id
    }

    /// Credentials of the account that is left, as the header that presents them.
    func proof() throws -> (name: String, value: String) { try before.account.proof() }

    /// ConfirmAccountSwitch, whatever the reply; with a proof if the server is to move the files.
    func confirm(_ id: String, epoch: Int64 = 0, moving: Bool = false) throws -> HTTPReply {
        try after.server.call(
            "POST", "ConfirmAccountSwitch",
            ["switchId": id, "expectedEpoch": "\(epoch)", "moveContents": moving ? "true" : nil],
            headers: after.headers + (moving ? [proof()] : []))
    }

    /// Begins and confirms, which must succeed; the number of the switch.
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

    /// GetAccountSwitchStatus with the new account, whatever the reply.
    func status(_ id: String? = nil, cursor: String? = nil) throws -> HTTPReply {
        try after.call("GET", "GetAccountSwitchStatus", ["switchId": id, "cursor": cursor])
    }

    /// FinishAccountSwitch, whatever the reply.
    func finish(_ id: String, missing: String? = nil) throws -> HTTPReply {
        try after.call("POST", "FinishAccountSwitch", ["switchId": id, "missing": missing])
    }
}

extension SandboxAccount {
    /// Credentials of an account that is left, as the header that presents them.
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
    /// Makes moves, and the deletions that follow them, due at once, whoever has them under lease or has put them off, as if
    /// the time had passed.
    /// - Parameter user: whose; of a stack that tests share, another test may be uploading under such a lease.
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
    /// ReuploadFile, whatever the reply.
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
