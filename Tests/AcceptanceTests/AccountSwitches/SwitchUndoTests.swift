import Foundation
import TestSupport
import Testing

@Suite("Undoing a switch of accounts")
struct SwitchUndoTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// A victim, and a thief who took over the victim's account with an unused authorization code.
    private struct Takeover {
        let victim: AccountSwitch
        let thief: AccountSwitch
        let switchID: String
        let server: TestServer

        init(on server: TestServer, files: [TestFile] = [], moving: Bool = false) throws {
            self.server = server
            let victim = try AccountSwitch(on: server, files: files)
            let stolen = victim.before.onAnotherDevice()
                .with(account: try server.sandbox.newAuthorizationCode(of: victim.before.account))
            self.victim = victim
            thief = try AccountSwitch(
                of: stolen, to: server.newcomer(.dropbox, name: "Mallory").account, isEstablished: false)
            switchID = try thief.perform(moving: moving)
        }

        /// Calls UndoAccountSwitch with the victim's device, after the victim has signed in at the provider again.
        func undo(
            withNewCode: Bool = true, grant: String? = nil, from user: TestUser? = nil
        ) throws -> HTTPReply {
            let user = user ?? victim.before
            let account = withNewCode ? try server.sandbox.newAuthorizationCode(of: user.account) : user.account
            return try server.call(
                "POST", "UndoAccountSwitch", ["userAppId": victim.userAppID],
                headers: user.with(account: account).headers
                    + [("SyncServer-Device-Grant", grant ?? victim.grant)])
        }

        func ageSwitches(days: Int) throws {
            _ = try server.askDatabase(
                """
                UPDATE account_switches SET confirmed_at = confirmed_at - INTERVAL \(days) DAY
                 WHERE user_id = \(victim.before.userID)
                """)
        }
    }

    private func expectNoFindings() throws {
        // Other tests that use this database leave rows without objects.
        let fsck = try OperatorTool(server).run("fsck", "--json")
        let findings = try #require(JSONValue(Array(fsck.output.utf8))?.findings?.array)
        #expect(findings.allSatisfy { $0.code?.text == "contentUnknown" }, "\(fsck.output)")
    }

    @Test("The victim regains identity, groups, files and bytes; the thief is no longer a user")
    func undone() async throws {
        let (kept, next) = (TestFile("kept"), TestFile("one"))
        let takeover = try Takeover(on: server, files: [kept, next])
        let (victim, thief) = (takeover.victim, takeover.thief)
        let bob = try thief.after.newMember(.write, provider: .google)
        let token = "fcm-" + UUID().uuidString
        expectJSON(
            try thief.after.call(
                "POST", "RegisterPushNotificationToken",
                ["pushNotificationToken": token, "pushNotificationKind": "fcm"]))
        let retired = try victim.before.identity(showing: victim.grant)

        let reply = try takeover.undo()

        #expect(retired.json?.code?.text == "account_retired")
        #expect(retired.json?.undoUntil?.text ?? "" > (try server.clock()))
        #expect(reply.json?.accountEpoch?.integer == 2, "\(reply)")
        #expect(reply.json?.numberAwaiting?.integer == 0)
        let identity = try victim.before.identity(showing: victim.grant)
        #expect(identity.json?.userId?.integer == victim.before.userID)
        #expect(identity.json?.userAppId?.text == victim.userAppID)
        #expect(identity.json?.deviceGrant == nil, "the grant is valid")
        for person in [victim.before, bob] {
            let index = try person.index(of: victim.before.group)
            for file in [kept, next] {
                expectDownload(try person.download(file, masterVersion: index.masterVersion ?? 0), of: file)
                #expect(index.file(file)?.awaitingReupload == nil)
            }
        }
        let stranger = try thief.after.checkCredentials()
        expectError(stranger, 401)
        #expect(stranger.json?.code?.text == "user_unknown")
        #expect(try thief.begin().json?.code?.text == "grant_invalid")
        #expect(
            try server.askDatabase(
                """
                SELECT COUNT(*) FROM push_registrations WHERE user_id = \(victim.before.userID)
                """) == "0")
        try victim.before.publish(TestFile("new"), masterVersion: try victim.before.index().masterVersion ?? 0)
        expectJSON(
            try thief.after.call("POST", "AddUser", ["sharingGroupUUID": UUID().uuidString]))
        try expectNoFindings()
    }

    @Test("The undo works whether the thief revoked the victim's grants before or after the switch")
    func revokedGrants() throws {
        for before in [true, false] {
            let victim = try AccountSwitch(on: server, files: [TestFile()])
            let stolen = victim.before.onAnotherDevice()
                .with(account: try server.sandbox.newAuthorizationCode(of: victim.before.account))
            let thief = try AccountSwitch(
                of: stolen, to: server.newcomer(.dropbox).account, isEstablished: false)
            var revoking = stolen.with(account: try server.sandbox.newAuthorizationCode(of: victim.before.account))
            if !before {
                try thief.perform()
                revoking = thief.after.with(account: try server.sandbox.newAuthorizationCode(of: thief.after.account))
            }
            let revoked = try revoking.call("POST", "RevokeDeviceGrants")
            #expect(revoked.json?.numberRevoked?.integer == 1, "\(revoked)")
            if before { try thief.perform() }
            let fresh = victim.before.with(account: try server.sandbox.newAuthorizationCode(of: victim.before.account))

            let reply = try server.call(
                "POST", "UndoAccountSwitch", ["userAppId": victim.userAppID],
                headers: fresh.headers + [("SyncServer-Device-Grant", victim.grant)])

            expectJSON(reply)
            #expect(try victim.before.identity(showing: victim.grant).json?.deviceGrant == nil, "valid again")
        }
    }

    @Test("The server moves back contents written since the switch")
    func writtenMeanwhile() async throws {
        let (kept, changed) = (TestFile("kept"), TestFile("one"))
        let takeover = try Takeover(on: server, files: [kept, changed])
        let (victim, thief) = (takeover.victim, takeover.thief)
        let (second, new) = (changed.next("two").stored(at: .dropbox), TestFile("new").stored(at: .dropbox))
        let version = try thief.after.index().masterVersion ?? 0
        try thief.after.publish(second, masterVersion: version)
        try thief.after.publish(new, masterVersion: version + 1)

        let reply = try takeover.undo()

        #expect(reply.json?.numberAwaiting?.integer == 2, "\(reply)")
        #expect(reply.json?.movesContents?.bool == true)
        try await eventually("the switch is finished") {
            try victim.before.call("GET", "GetAccountSwitchStatus").json?.state?.text == "finished"
        }
        let index = try victim.before.index()
        for file in [kept, second.stored(at: .google), new.stored(at: .google)] {
            expectDownload(try victim.before.download(file, masterVersion: index.masterVersion ?? 0), of: file)
        }
        try expectNoFindings()
    }

    @Test("The undo also works after the thief has switched to a third account")
    func chain() throws {
        let file = TestFile()
        let takeover = try Takeover(on: server, files: [file])
        let (victim, thief) = (takeover.victim, takeover.thief)
        let third = try thief.to(server.newcomer(.microsoft).account, leaving: thief.after)
        try third.perform(epoch: 1)

        let reply = try takeover.undo()

        #expect(reply.json?.accountEpoch?.integer == 3, "\(reply)")
        expectDownload(
            try victim.before.download(file, masterVersion: try victim.before.index().masterVersion ?? 0), of: file)
        for account in [thief.after, third.after] {
            let stranger = try account.checkCredentials()
            #expect(stranger.json?.code?.text == "user_unknown", "\(stranger)")
        }
        expectError(try third.undoing(), 409)
        try expectNoFindings()
    }

    @Test("An undo during the move out of the victim's account restores both moved and unmoved files")
    func duringMoves() async throws {
        let files = [TestFile(randomBytes: 50_000), TestFile(randomBytes: 3 << 20), TestFile("three")]
        let takeover = try Takeover(on: server, files: files, moving: true)
        let victim = takeover.victim

        let reply = try takeover.undo()

        #expect(reply.json?.numberAwaiting?.integer == 0, "\(reply)")
        let version = try victim.before.index().masterVersion ?? 0
        for file in files { expectDownload(try victim.before.download(file, masterVersion: version), of: file) }
        #expect(
            try server.askDatabase(
                """
                SELECT COUNT(*) FROM account_moves WHERE user_id = \(victim.before.userID) AND state = 'moving'
                """) == "0")
        try expectNoFindings()
    }

    @Test("An undo repeated after a lost reply returns the same reply; a second undo finds nothing to undo")
    func repeated() throws {
        let takeover = try Takeover(on: server, files: [TestFile()])

        let first = try takeover.undo()
        let again = try takeover.undo(withNewCode: false)
        let known = try takeover.victim.before.index()

        expectJSON(first)
        #expect(again.json == first.json)
        #expect(try takeover.undo().json == first.json)
        #expect(try takeover.victim.before.index().json == known.json)
    }

    @Test("Several simultaneous identical undos take effect once")
    func simultaneous() async throws {
        let takeover = try Takeover(on: server, files: [TestFile()])
        let account = try server.sandbox.newAuthorizationCode(of: takeover.victim.before.account)

        let replies = try await Threads.run(4) { _ in
            try takeover.undo(withNewCode: false, from: takeover.victim.before.with(account: account))
        }

        #expect(replies.contains { $0.status == 200 }, "\(replies)")
        #expect(replies.allSatisfy { [200, 409, 429].contains($0.status) }, "\(replies)")
        #expect(try takeover.victim.before.identity().json?.accountEpoch?.integer == 2)
    }

    @Test("An undo requires a new authorization code, and a grant at least as old as the one that began the switch")
    func requirements() throws {
        let takeover = try Takeover(on: server, files: [TestFile()])
        let victim = takeover.victim.before
        let stranger = try AccountSwitch(on: server)
        func code(_ reply: HTTPReply) -> String? {
            expectError(reply, 409)
            return reply.json?.code?.text
        }

        #expect(try code(takeover.undo(withNewCode: false)) == "authorization_code_rejected", "a used code")
        #expect(
            try code(takeover.undo(withNewCode: false, from: victim.with(account: victim.account.withoutCode)))
                == "fresh_sign_in_required")
        for reply in [
            try takeover.undo(grant: "x"), try takeover.undo(grant: stranger.grant),
            try takeover.undo(from: victim.onAnotherDevice()),
            try takeover.undo(grant: takeover.thief.grant, from: stranger.before),
        ] {
            #expect(code(reply) == "grant_invalid")
        }
        expectJSON(try takeover.thief.after.checkCredentials())
        // An uninvolved user does not learn the deadline.
        #expect(try victim.identity(showing: stranger.grant).json?.undoUntil == nil)
        expectJSON(try takeover.undo())
    }

    @Test("The grant that began a switch can undo it; grants of younger devices cannot")
    func ownSwitch() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let tablet = try AccountSwitch(
            of: move.before.onAnotherDevice(), to: move.after.account, isEstablished: false)
        try move.perform()

        expectError(try tablet.undoing(), 409)
        expectJSON(try move.undoing())

        expectDownload(
            try move.before.download(file, masterVersion: try move.before.index().masterVersion ?? 0), of: file)
    }

    @Test("After 14 days the switch is final")
    func final() throws {
        let takeover = try Takeover(on: server, files: [TestFile()])
        try takeover.ageSwitches(days: 15)

        let reply = try takeover.undo()

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "undo_expired", "\(reply)")
        #expect(try takeover.victim.before.identity(showing: takeover.victim.grant).json?.undoUntil == nil)
        let tool = try OperatorTool(server).run("switches", "undo", takeover.switchID)
        #expect(tool.status == 1, "\(tool.output)")
    }

    @Test("If another user has signed up with the account, they keep it")
    func inUse() throws {
        let takeover = try Takeover(on: server, files: [TestFile()])
        let victim = takeover.victim.before
        let afresh = victim.with(account: try server.sandbox.newAuthorizationCode(of: victim.account))
        expectJSON(
            try afresh.call(
                "POST", "AddUser",
                ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F", "acceptRetired": "1"]))

        let reply = try takeover.undo()

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "account_in_use", "\(reply)")
    }

    @Test("The operator undoes a switch; the user signs in once and regains everything")
    func byOperator() async throws {
        let (kept, changed) = (TestFile("kept"), TestFile("one"))
        let takeover = try Takeover(on: server, files: [kept, changed])
        let (victim, thief) = (takeover.victim.before, takeover.thief.after)
        let second = changed.next("two").stored(at: .dropbox)
        try thief.publish(second, masterVersion: try thief.index().masterVersion ?? 0)
        let tool = try OperatorTool(server)

        let undone = try tool.json("switches", "undo", takeover.switchID)

        #expect(undone.filesAwaiting?.integer == 1)
        #expect(undone.movesContents?.bool == true)
        expectError(try thief.checkCredentials(), 401)
        let signedIn = victim.with(
            account: try server.sandbox.newAuthorizationCode(of: victim.account, askingForConsent: true))
        #expect(try signedIn.identity().json?.accountEpoch?.integer == 2)
        expectDownload(
            try victim.download(kept, masterVersion: try victim.index().masterVersion ?? 0), of: kept)
        try await eventually("the move continues once its owner has signed in") {
            try server.endLeasesOfMoves(of: victim)
            return try victim.index().file(second)?.awaitingReupload == nil
        }
        #expect(try tool.run("switches", "undo", takeover.switchID).status == 1, "undone already")
        #expect(try tool.run("switches", "show", takeover.switchID).output.contains("undone"))
        let listed = try tool.json("switches", "--finished", "--user", "\(victim.userID)").items?.array
        #expect(listed?.contains { $0.undoes?.text == takeover.switchID } == true)
        try expectNoFindings()
    }

    @Test("A user without storage regains the former owner; contents in the thief's storage are out of reach")
    func withoutStorage() throws {
        let host = try server.signUpOwningUser()
        let bob = try host.newMember(.write, provider: .facebook)
        let (old, new) = (TestFile("at the host's"), TestFile("at the thief's").stored(at: .dropbox))
        try bob.publish(old, masterVersion: 1)
        let thief = try AccountSwitch(of: bob, to: server.newcomer(.dropbox).account)
        let id = try thief.perform()
        try thief.after.publish(new, masterVersion: 2)

        try OperatorTool(server).json("switches", "undo", id)

        let version = try bob.index().masterVersion ?? 0
        expectDownload(try bob.download(old, masterVersion: version), of: old)
        #expect(try bob.download(new, masterVersion: version).messageParameters?.gone?.text != nil)
        #expect(try bob.index().file(new)?.deleted?.bool == false, "phones keep what they have")
        let refused = try bob.upload(new.next("two"), masterVersion: version)
        #expect((400..<500).contains(refused.status), "\(refused)")
        let next = TestFile("at the host's again")
        try bob.publish(next, masterVersion: version)
        #expect(try server.sandbox.files(of: host.account).contains { $0.name.contains(next.uuid) })
        try expectNoFindings()
    }

    // MARK: Accounts without a sign-up

    @Test("After switching back, an account that never signed up is free, and its owner can sign up")
    func borrowedAccount() throws {
        let stranger = try server.newcomer(.dropbox)
        let there = try AccountSwitch(of: server.signUpOwningUser(), to: stranger.account)
        try there.perform()
        let back = there.to(there.before.account, leaving: there.after)
        expectError(try stranger.call("POST", "AddUser", ["sharingGroupUUID": stranger.group]), 409)

        try back.perform(epoch: 1)

        #expect(try stranger.checkCredentials().json?.code?.text == "user_unknown")
        let signedUp = try stranger.call("POST", "AddUser", ["sharingGroupUUID": stranger.group])
        expectJSON(signedUp)
        #expect(signedUp.json?.userId?.integer != there.before.userID)
        try expectNoFindings()
    }

    @Test("Switching back frees every intermediate account that never signed up, and the original works again")
    func severalBorrowedAccounts() throws {
        let strangers = try [server.newcomer(.dropbox), server.newcomer(.microsoft)]
        let alice = try server.signUpOwningUser()
        var move = try AccountSwitch(of: alice, to: strangers[0].account)
        try move.perform()
        move = move.to(strangers[1].account, leaving: move.after)
        try move.perform(epoch: 1)
        #expect(try strangers[0].checkCredentials().json?.code?.text == "account_retired", "after the second switch")
        #expect(try alice.checkCredentials().json?.code?.text == "account_retired")

        try move.to(alice.account, leaving: move.after).perform(epoch: 2)

        for stranger in strangers {
            #expect(try stranger.checkCredentials().json?.code?.text == "user_unknown")
        }
        expectJSON(try alice.checkCredentials())
    }

    @Test("Without switching back, such an account is free once the switch is final")
    func leftBehind() async throws {
        let stranger = try server.newcomer(.dropbox)
        var move = try AccountSwitch(of: server.signUpOwningUser(), to: stranger.account)
        try move.perform()
        move = move.to(try server.newcomer(.microsoft).account, leaving: move.after)
        try move.perform(epoch: 1)
        #expect(try stranger.checkCredentials().json?.code?.text == "account_retired")

        _ = try server.askDatabase(
            """
            UPDATE retired_accounts SET retired_at = retired_at - INTERVAL 15 DAY WHERE user_id = \(move.before.userID)
            """)

        try await eventually("the housekeeping has freed the account", within: .seconds(90)) {
            try stranger.checkCredentials().json?.code?.text == "user_unknown"
        }
        #expect(
            try server.askDatabase(
                "SELECT COUNT(*) FROM retired_accounts WHERE has_signed_up AND user_id = \(move.before.userID)") == "1")
    }
}

extension AccountSwitch {
    /// Calls UndoAccountSwitch with the former account, a new code of it, and this device's grant; the reply may be an
    /// error.
    func undoing() throws -> HTTPReply {
        let account = try before.server.sandbox.newAuthorizationCode(of: before.account)
        return try before.server.call(
            "POST", "UndoAccountSwitch", ["userAppId": userAppID],
            headers: before.with(account: account).headers + [("SyncServer-Device-Grant", grant)])
    }
}
