import Foundation
import TestSupport
import Testing

@Suite("Proposing to switch accounts")
struct SwitchProposalTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// The part of the server's state that a proposal must not change.
    private func state(of user: TestUser) throws -> [JSONValue?] {
        [try user.index().json, try user.checkCredentials().json]
    }

    @Test("A proposal describes the consequences of the switch, and changes nothing")
    func proposal() throws {
        let files = [TestFile("one"), TestFile("three")]
        let move = try AccountSwitch(on: server, files: files)
        let bob = try move.before.newMember(.write, provider: .facebook)
        let known = try state(of: move.before)

        let reply = try move.begin()

        let json = reply.json
        #expect(json?.switchId?.text.flatMap { UUID(uuidString: $0) } != nil, "\(reply)")
        #expect(json?.state?.text == "proposed")
        #expect(json?.fromAccountType?.text == "Google")
        #expect(json?.toAccountType?.text == "Dropbox")
        #expect(json?.reuploadRequired?.bool == true)
        #expect(json?.numberOfFiles?.integer == 2)
        #expect(json?.approximateBytes?.integer == 8)
        #expect(json?.hostedUsers?.array?.map { $0.userId?.integer } == [bob.userID])
        #expect(json?.expiresAt?.text ?? "" > (try server.clock()))
        #expect(try state(of: move.before) == known)
        expectError(try move.after.checkCredentials(), 401)
        #expect(try server.sandbox.files(of: move.after.account).isEmpty, "the trial file is deleted")
    }

    @Test("Without a grant of that device and identity, a proposal reveals nothing")
    func grants() throws {
        let move = try AccountSwitch(on: server)
        let stranger = try AccountSwitch(on: server)
        var elsewhere = move
        elsewhere.after = move.after.onAnotherDevice()

        for reply in [
            try move.begin(grant: String(repeating: "0", count: 64)), try move.begin(grant: "x"),
            try move.begin(grant: stranger.grant), try elsewhere.begin(),
            try server.call("POST", "BeginAccountSwitch", ["userAppId": move.userAppID], headers: move.after.headers),
            try server.call(
                "POST", "BeginAccountSwitch", ["userAppId": UUID().uuidString],
                headers: move.after.headers + [("SyncServer-Device-Grant", move.grant)]),
        ] {
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "grant_invalid", "\(reply)")
        }
        expectJSON(
            try server.call(
                "POST", "RevokeDeviceGrants", ["grantDeviceUUID": move.before.device],
                headers: move.before.headers + [("SyncServer-Device-Grant", move.grant)]))
        #expect(try move.begin().json?.code?.text == "grant_invalid", "a revoked grant")
    }

    @Test("An account that another identity has or had is rejected, as is the current account")
    func accountInUse() throws {
        let move = try AccountSwitch(on: server)
        let other = try AccountSwitch(on: server)
        try other.perform()

        for account in [other.after.account, other.before.account, move.before.account] {
            let reply = try move.to(account).begin()
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "account_in_use", "\(reply)")
        }
    }

    @Test("If a second device begins a switch to the same account, it joins the first; otherwise it is rejected")
    func twoDevices() throws {
        let move = try AccountSwitch(on: server)
        let id = try move.begun()
        let tablet = try AccountSwitch(
            of: move.before.onAnotherDevice(), to: move.after.account)
        let laptop = try AccountSwitch(
            of: move.before.onAnotherDevice(), to: server.newcomer(.dropbox).account)

        let joining = try tablet.begin()
        let refused = try laptop.begin()

        #expect(joining.json?.switchId?.text == id)
        expectError(refused, 409)
        #expect(refused.json?.code?.text == "switch_in_progress")
        #expect(refused.json?.switchId?.text == id)
        #expect(try move.begin().json?.switchId?.text == id, "a repeated request also joins")
    }

    @Test("Users who own files or host others cannot switch to an account without storage; all others can")
    func toSharing() throws {
        let owner = try AccountSwitch(on: server, to: .facebook, files: [TestFile()])
        let host = try AccountSwitch(on: server, to: .facebook)
        _ = try host.before.newMember(.write, provider: .facebook)
        let neither = try AccountSwitch(on: server, to: .facebook)

        for move in [owner, host] {
            let reply = try move.begin()
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "owning_account_required", "\(reply)")
        }
        expectJSON(try neither.begin())
        try neither.perform()
        #expect(try neither.after.checkCredentials().json?.userId?.integer == neither.before.userID)
    }

    @Test("A storage that accepts no files is rejected, and no proposal is created")
    func unusableStorage() throws {
        let alice = try server.signUpOwningUser()
        let full = try server.newcomer(.dropbox, quotaBytes: 0)
        let move = try AccountSwitch(of: alice, to: full.account)

        expectError(try move.begin(), 507)

        #expect(try alice.call("GET", "GetAccountSwitchStatus").json?.state?.text == "none")
    }

    @Test("A proposal that expired, or that either account cancelled, changes nothing and cannot be confirmed")
    func abandoned() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let known = try state(of: move.before)
        func expectVoid(_ id: String) throws {
            let reply = try move.confirm(id)
            expectError(reply, 404)
            #expect(reply.json?.code?.text == "switch_unknown")
            #expect(try state(of: move.before) == known)
        }

        for canceller in [move.before, move.after] {
            let id = try move.begun()
            expectJSON(try canceller.call("POST", "CancelAccountSwitch", ["switchId": id]))
            expectJSON(try canceller.call("POST", "CancelAccountSwitch", ["switchId": id]))
            try expectVoid(id)
        }
        let id = try move.begun()
        _ = try server.askDatabase(
            "UPDATE account_switches SET expires_at = UTC_TIMESTAMP() - INTERVAL 1 SECOND WHERE switch_uuid = '\(id)'")
        try expectVoid(id)
        #expect(try move.begin().json?.switchId?.text != id)
    }

    @Test("The proposal to return to a former account can be seen and cancelled with that account")
    func returning() throws {
        let there = try AccountSwitch(on: server)
        try there.perform()
        let back = there.to(there.before.account, leaving: there.after)
        expectError(try back.after.call("GET", "GetAccountSwitchStatus"), 401)

        let id = try back.begun()

        #expect(try back.status().json?.switchId?.text == id)
        expectJSON(try back.after.call("POST", "CancelAccountSwitch", ["switchId": id]))
        #expect(try back.before.call("GET", "GetAccountSwitchStatus").json?.switchId?.text != id)
        expectError(try back.status(id), 401)
    }

    @Test("Other users cannot see, cancel or confirm a switch")
    func strangers() throws {
        let move = try AccountSwitch(on: server)
        let id = try move.begun()
        let mallory = try server.signUpOwningUser()

        expectError(try mallory.call("POST", "CancelAccountSwitch", ["switchId": id]), 404)
        expectError(
            try mallory.call("POST", "ConfirmAccountSwitch", ["switchId": id, "expectedEpoch": "0"]), 404)
        expectError(try mallory.call("GET", "GetAccountSwitchStatus", ["switchId": id]), 404)
        #expect(try move.before.call("GET", "GetAccountSwitchStatus").json?.switchId?.text == id)
        #expect(try move.status().json?.state?.text == "proposed")
    }

    @Test("The number of switches that an identity can begin within an hour is limited")
    func rate() throws {
        let move = try AccountSwitch(on: server)

        var last: HTTPReply?
        for _ in 0...10 {
            let reply = try move.begin()
            last = reply
            guard let id = reply.json?.switchId?.text else { break }
            expectJSON(try move.before.call("POST", "CancelAccountSwitch", ["switchId": id]))
        }

        #expect(last?.status == 429)
        #expect(last?.json?.code?.text == "quota_account_switch_rate")
        #expect(last?.values(of: "retry-after").first.flatMap { Int($0) } ?? 0 > 0)
    }

    @Test("The identity's devices are notified when a switch begins and when it is confirmed")
    func notices() async throws {
        let move = try AccountSwitch(on: server)
        let token = "fcm-" + UUID().uuidString
        expectJSON(
            try move.before.onAnotherDevice().call(
                "POST", "RegisterPushNotificationToken",
                ["pushNotificationToken": token, "pushNotificationKind": "fcm"]))

        let id = try move.begun()
        try await eventually("the device is notified of the proposal") {
            try server.sandbox.pushes(to: token).map(\.text).contains { $0.contains("begun") && $0.contains("Dropbox") }
        }
        expectJSON(try move.confirm(id))
        expectJSON(try move.confirm(id))

        try await eventually("the device is notified of the confirmation") {
            try server.sandbox.pushes(to: token).count == 2
        }
    }

    @Test("The operator can require credentials of the former account to begin a switch")
    func requiredProof() throws {
        let strict = try TestServer.configuredDifferently()
        let move = try AccountSwitch(on: strict, to: .google)
        let proof = #"{"accessToken": "\#(move.before.account.accessToken)"}"#

        let refused = try move.begin()
        let accepted = try move.begin(headers: [("SyncServer-Old-Account-Proof", proof)])

        expectError(refused, 409)
        #expect(refused.json?.code?.text == "old_account_proof_required")
        expectJSON(accepted)
    }

    @Test("Credentials sent for the former account must belong to it")
    func proof() throws {
        let move = try AccountSwitch(on: server)
        let stranger = try server.signUpOwningUser()
        func proof(_ user: TestUser) -> [(name: String, value: String)] {
            [("SyncServer-Old-Account-Proof", #"{"accessToken": "\#(user.account.accessToken)"}"#)]
        }

        for headers in [proof(stranger), [("SyncServer-Old-Account-Proof", #"{"accessToken": "none"}"#)]] {
            let reply = try move.begin(headers: headers)
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "old_account_proof_required", "\(reply)")
        }
        expectError(try move.begin(headers: [("SyncServer-Old-Account-Proof", "token")]), 400)
        expectJSON(try move.begin(headers: proof(move.before)))
    }
}
