import Foundation
import TestSupport
import Testing

@Suite("The identity above an account")
struct IdentityTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Replies contain the identity only if the request asks for it")
    func onRequestOnly() throws {
        let alice = try server.signUpOwningUser()

        let plain = try alice.checkCredentials()
        let asked = try alice.identity()

        #expect(plain.json == .object(["userId": .integer(alice.userID)]))
        #expect(asked.json?.names.sorted() == ["accountEpoch", "deviceGrant", "userAppId", "userId"])
        #expect(asked.json?.accountEpoch?.integer == 0)
        #expect(asked.json?.userAppId?.text.flatMap { UUID(uuidString: $0) } != nil)
        #expect(asked.json?.deviceGrant?.text?.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    }

    @Test("AddUser and RedeemSharingInvitation report the identity, even when repeated")
    func newUsers() throws {
        let newcomer = try server.newcomer()
        let parameters: [String: String?] = [
            "sharingGroupUUID": newcomer.group, "cloudFolderName": newcomer.folder, "reportIdentity": "1",
        ]
        let first = try newcomer.call("POST", "AddUser", parameters)
        let second = try newcomer.call("POST", "AddUser", parameters)
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite(.write)
        let bob = try server.newcomer(.facebook)

        let redeemed = try bob.call(
            "POST", "RedeemSharingInvitation", ["sharingInvitationUUID": invitation, "reportIdentity": "1"])

        #expect(first.json?.userAppId?.text != nil)
        #expect(first.json?.userAppId == second.json?.userAppId)
        #expect(first.json?.deviceGrant != second.json?.deviceGrant)
        #expect(redeemed.json?.deviceGrant?.text != nil)
        #expect(redeemed.json?.userAppId?.text != first.json?.userAppId?.text)
    }

    @Test("All devices share one identity; each receives its own grant unless it already presents a valid one")
    func grants() throws {
        let alice = try server.signUpOwningUser()
        let tablet = alice.onAnotherDevice()
        let grant = try alice.grant()

        let again = try alice.identity(showing: grant)
        let elsewhere = try tablet.identity(showing: grant)

        #expect(again.json?.deviceGrant == nil)
        #expect(elsewhere.json?.deviceGrant?.text != nil, "a grant is valid on its own device only")
        #expect(again.json?.userAppId == elsewhere.json?.userAppId)
    }

    @Test("Only a hash of a grant is stored")
    func hashOnly() throws {
        let grant = try server.signUpOwningUser().grant()

        let plain = try server.askDatabase(
            "SELECT COUNT(*) FROM device_grants WHERE grant_hash IN (UNHEX('\(grant)'), '\(grant)')")
        let hashed = try server.askDatabase(
            "SELECT COUNT(*) FROM device_grants WHERE grant_hash = UNHEX(SHA2('\(grant)', 256))")

        #expect(plain == "0")
        #expect(hashed == "1")
    }

    @Test("However many replies are lost, a device has a bounded number of grants, and the newest is valid")
    func lostReplies() throws {
        let alice = try server.signUpOwningUser()
        var newest = ""
        for _ in 0..<12 { newest = try alice.grant() }

        let count = try server.askDatabase("SELECT COUNT(*) FROM device_grants WHERE user_id = \(alice.userID)")

        #expect(count == "8")
        #expect(try alice.identity(showing: newest).json?.deviceGrant == nil)
    }

    @Test("A grant unused for 400 days is invalid")
    func expiry() throws {
        let alice = try server.signUpOwningUser()
        let grant = try alice.grant()
        _ = try server.askDatabase(
            """
            UPDATE device_grants SET last_used_at = UTC_TIMESTAMP() - INTERVAL 401 DAY WHERE user_id = \(alice.userID)
            """)

        #expect(try alice.identity(showing: grant).json?.deviceGrant?.text != nil)
    }

    @Test("With its grant, a device revokes that of one younger device, or those of all others")
    func revocation() throws {
        let alice = try server.signUpOwningUser()
        let (tablet, laptop) = (alice.onAnotherDevice(), alice.onAnotherDevice())
        let grants = try [alice.grant(), tablet.grant(), laptop.grant()]
        func revoke(_ device: String?) throws {
            expectJSON(
                try server.call(
                    "POST", "RevokeDeviceGrants", ["grantDeviceUUID": device],
                    headers: alice.headers + [("SyncServer-Device-Grant", grants[0])]))
        }

        try revoke(tablet.device)
        let one = try [
            alice.identity(showing: grants[0]), tablet.identity(showing: grants[1]),
            laptop.identity(showing: grants[2]),
        ].map { $0.json?.deviceGrant == nil }
        try revoke(nil)
        let others = try [alice.identity(showing: grants[0]), laptop.identity(showing: grants[2])]
            .map { $0.json?.deviceGrant == nil }

        #expect(one == [true, false, true])
        #expect(others == [true, false])
    }

    @Test("A request that names a different epoch is rejected; CheckCreds returns the current one")
    func epochs() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        func index(_ epoch: String) throws -> HTTPReply {
            try server.call(
                "GET", "Index", headers: alice.headers + [("SyncServer-Account-Epoch", epoch)])
        }

        expectJSON(try index("0"))
        for epoch in ["1", "7"] {
            let reply = try index(epoch)
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "stale_epoch")
        }
        for epoch in ["-1", "x", "99999999999999999999"] { expectError(try index(epoch), 400) }
        let transfer = try server.call(
            "GET", "DownloadFile",
            [
                "fileUUID": file.uuid, "fileVersion": "0", "masterVersion": "1", "sharingGroupUUID": alice.group,
            ], headers: alice.headers + [("SyncServer-Account-Epoch", "7")])
        expectError(transfer, 409)
        expectJSON(
            try server.call("GET", "CheckCreds", headers: alice.headers + [("SyncServer-Account-Epoch", "7")]))
    }

    @Test("Removing the user deletes the identity and its grants")
    func removal() throws {
        let alice = try server.signUpOwningUser()
        _ = try alice.grant()

        expectJSON(try alice.call("POST", "RemoveUser"))

        let left = try server.askDatabase("SELECT COUNT(*) FROM device_grants WHERE user_id = \(alice.userID)")
        #expect(left == "0")
    }
}

extension TestUser {
    /// Calls CheckCreds and asks for the identity.
    func identity(showing grant: String? = nil) throws -> HTTPReply {
        try server.call(
            "GET", "CheckCreds", ["reportIdentity": "1"],
            headers: headers + (grant.map { [("SyncServer-Device-Grant", $0)] } ?? []))
    }

    /// Obtains a new grant for this device.
    func grant() throws -> String {
        let reply = try identity()
        guard let grant = reply.json?.deviceGrant?.text else { throw UnexpectedReply("CheckCreds", reply) }
        return grant
    }
}
