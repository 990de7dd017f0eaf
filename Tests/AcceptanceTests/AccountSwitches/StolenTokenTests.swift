import Foundation
import TestSupport
import Testing

@Suite("Attacks with a stolen access token")
struct StolenTokenTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// A victim with one device, whose grant is old enough, and a thief who intercepted a request: it contained an
    /// access token with the account's headers, an authorization code that was already used, and the device's UUID.
    private func theft(_ files: [TestFile] = [TestFile()]) throws -> (victim: AccountSwitch, thief: AccountSwitch) {
        let victim = try AccountSwitch(on: server, files: files)
        return (victim, try thief(of: victim.before.onAnotherDevice()))
    }

    private func thief(of victim: TestUser) throws -> AccountSwitch {
        try AccountSwitch(
            of: victim, to: server.newcomer(.dropbox, name: "Mallory").account, isEstablished: false)
    }

    private func isValid(_ victim: AccountSwitch) throws -> Bool {
        try victim.before.identity(showing: victim.grant).json?.deviceGrant == nil
    }

    private func expectTooYoung(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) {
        expectError(reply, 409)
        #expect(reply.json?.code?.text == "grant_too_young", "\(reply)", sourceLocation: sourceLocation)
    }

    @Test("The token alone does not begin a switch, even after an attempt to revoke the victim's grants")
    func tokenAlone() throws {
        let (victim, thief) = try theft()

        let revoked = try thief.before.call("POST", "RevokeDeviceGrants")
        let begun = try thief.begin()

        expectError(revoked, 409)
        #expect(revoked.json?.code?.text == "grant_invalid", "the token alone revokes nothing")
        expectTooYoung(begun)
        #expect(begun.json?.usableFrom?.text ?? "" > (try server.clock()))
        #expect(begun.values(of: "retry-after").first.flatMap { Int($0) } ?? 0 > 6 * 86_400)
        expectJSON(try victim.before.checkCredentials())
        #expect(try isValid(victim))
        try victim.perform()
    }

    @Test("A thief who waits until the grant is old enough can no longer sign in to present it")
    func waiting() throws {
        let (victim, thief) = try theft()
        #expect(try thief.before.identity(showing: thief.grant).json?.deviceGrant == nil, "the token is still valid")

        _ = try server.askDatabase(
            """
            UPDATE device_grants
               SET created_at = created_at - INTERVAL 8 DAY, signed_in_at = signed_in_at - INTERVAL 8 DAY
             WHERE grant_hash = UNHEX(SHA2('\(thief.grant)', 256))
            """)

        expectTooYoung(try thief.begin())
        try victim.perform()
    }

    @Test("A young device's grant revokes younger grants, but no older ones")
    func seniority() throws {
        let (victim, thief) = try theft()
        let accomplice = try self.thief(of: victim.before.onAnotherDevice())

        let revoked = try server.call(
            "POST", "RevokeDeviceGrants",
            headers: thief.before.headers + [("SyncServer-Device-Grant", thief.grant)])
        let named = try server.call(
            "POST", "RevokeDeviceGrants", ["grantDeviceUUID": victim.before.device],
            headers: thief.before.headers + [("SyncServer-Device-Grant", thief.grant)])

        #expect(
            revoked.json == .object(["numberRevoked": .integer(1), "numberKept": .integer(1)]), "\(revoked)")
        #expect(named.json == .object(["numberRevoked": .integer(0), "numberKept": .integer(1)]), "\(named)")
        #expect(try accomplice.begin().json?.code?.text == "grant_invalid")
        #expect(try isValid(victim))
        let all = try server.call(
            "POST", "RevokeDeviceGrants",
            headers: victim.before.headers + [("SyncServer-Device-Grant", victim.grant)])
        #expect(all.json?.numberRevoked?.integer == 1)
        #expect(try thief.begin().json?.code?.text == "grant_invalid")
        try victim.perform()
    }

    @Test("A new authorization code can revoke any grant, even from a device without a grant")
    func revokingWithCode() throws {
        let (victim, thief) = try theft()
        var phone = victim.before.onAnotherDevice()
        phone.account = try server.sandbox.newAuthorizationCode(of: phone.account)

        let revoked = try phone.call("POST", "RevokeDeviceGrants")

        #expect(revoked.json?.numberRevoked?.integer == 2, "\(revoked)")
        #expect(try thief.begin().json?.code?.text == "grant_invalid")
        #expect(try victim.begin().json?.code?.text == "grant_invalid")
    }

    @Test("Regardless of the number of grants that the thief requests, and of the devices, the victim's stay valid")
    func displacing() throws {
        let (victim, _) = try theft()
        for _ in 0..<20 { _ = try thief(of: victim.before) }
        let imposter = try thief(of: victim.before)

        #expect(try isValid(victim))
        expectTooYoung(try imposter.begin())
        try victim.perform()
    }

    @Test("Neither the token nor a used authorization code proves control of the former account")
    func proofs() throws {
        let (_, thief) = try theft()
        let token = try thief.proof()
        var headers = thief.before.account.headers.filter { $0.name == "SyncServer-authorization-code" }
        headers = [
            (
                name: token.name,
                value:
                    #"{"accessToken": "\#(thief.before.account.accessToken)", "authorizationCode": "\#(headers[0].value)"}"#
            )
        ]

        expectTooYoung(try thief.begin(headers: [token]))
        let used = try thief.begin(headers: headers)

        expectError(used, 409)
        #expect(used.json?.code?.text == "authorization_code_rejected", "\(used)")
    }

    @Test("The identity's other devices learn of a new grant by push and from their next CheckCreds")
    func announced() async throws {
        let victim = try AccountSwitch(on: server)
        let token = "fcm-" + UUID().uuidString
        expectJSON(
            try victim.before.call(
                "POST", "RegisterPushNotificationToken",
                ["pushNotificationToken": token, "pushNotificationKind": "fcm"]))
        let before = try victim.before.identity(showing: victim.grant)

        let thief = try thief(of: victim.before.onAnotherDevice())

        #expect(before.json?.newerGrants == nil)
        let newer = try victim.before.identity(showing: victim.grant).json?.newerGrants?.array
        #expect(newer?.map { $0.grantDeviceUUID?.text } == [thief.before.device])
        #expect(newer?.first?.usableFrom?.text ?? "" > (try server.clock()))
        #expect(try thief.before.identity(showing: thief.grant).json?.newerGrants == nil, "no older ones")
        try await eventually("the victim's device receives a push") {
            try server.sandbox.pushes(to: token).contains { $0.text.contains("Another device") }
        }
    }

    @Test("The token cannot sign up with the former account as long as the switch can be undone")
    func startingAfresh() throws {
        let victim = try AccountSwitch(on: server, files: [TestFile()])
        try victim.perform()

        let reply = try victim.before.with(account: victim.before.account.withoutCode).call(
            "POST", "AddUser", ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F", "acceptRetired": "1"])

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "fresh_sign_in_required", "\(reply)")
    }

    // MARK: Legitimate users

    @Test("A new phone that signs in with a new code can switch immediately")
    func newPhone() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice().with(account: try server.sandbox.newAuthorizationCode(of: alice.account))

        let move = try AccountSwitch(of: phone, to: server.newcomer(.dropbox).account, isEstablished: false)

        try move.perform()
    }

    @Test("A phone with a young grant can switch with a new code of the former account")
    func newCode() throws {
        let alice = try server.signUpOwningUser()
        let move = try AccountSwitch(
            of: alice.onAnotherDevice(), to: server.newcomer(.dropbox).account, isEstablished: false)
        expectTooYoung(try move.begin())

        let code =
            try server.sandbox.newAuthorizationCode(of: alice.account)
            .header("SyncServer-authorization-code") ?? ""
        let proof = #"{"accessToken": "\#(alice.account.accessToken)", "authorizationCode": "\#(code)"}"#
        let begun = try move.begin(headers: [("SyncServer-Old-Account-Proof", proof)])

        expectJSON(begun)
        expectJSON(try move.confirm(begun.json?.switchId?.text ?? ""))
    }

    @Test("A device can switch once it signs in again with a sufficiently old grant, or if it signed up")
    func grownUp() throws {
        let alice = try server.signUpOwningUser()
        let move = try AccountSwitch(of: alice, to: server.newcomer(.dropbox).account, isEstablished: false)
        expectTooYoung(try move.begin())
        _ = try server.askDatabase(
            """
            UPDATE device_grants SET created_at = created_at - INTERVAL 8 DAY, signed_in_at = UTC_TIMESTAMP() - INTERVAL 2 DAY
             WHERE user_id = \(alice.userID)
            """)
        _ = try move.before.identity(showing: move.grant)
        try move.perform()

        let newcomer = try server.newcomer()
        let signedUp = try newcomer.call(
            "POST", "AddUser",
            ["sharingGroupUUID": newcomer.group, "cloudFolderName": newcomer.folder, "reportIdentity": "1"])
        let begun = try server.call(
            "POST", "BeginAccountSwitch", ["userAppId": signedUp.json?.userAppId?.text],
            headers: try server.newcomer(.dropbox).account.headers + [
                ("SyncServer-Device-UUID", newcomer.device),
                ("SyncServer-Device-Grant", signedUp.json?.deviceGrant?.text ?? ""),
            ])
        expectJSON(begun)
    }

    @Test("With a password instead of a token, a grant is usable immediately")
    func password() throws {
        let alice = try server.signUpOwningUser(.webdav)

        let move = try AccountSwitch(of: alice, to: server.newcomer(.dropbox).account, isEstablished: false)

        try move.perform()
    }

    @Test("Clients that send no grant see no difference")
    func deployedClients() throws {
        let victim = try AccountSwitch(on: server, files: [TestFile()])
        #expect(try victim.before.checkCredentials().json == .object(["userId": .integer(victim.before.userID)]))
        try victim.perform()

        let reply = try victim.before.checkCredentials()

        expectError(reply, 401)
        #expect(reply.json?.names.sorted() == ["code", "error", "requestId", "retryable", "status", "title"])
    }
}
