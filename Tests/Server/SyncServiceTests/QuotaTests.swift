import Foundation
import MariaDB
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Quotas of a user")
struct QuotaTests {
    private func server(_ limits: [Quota: Int]) throws -> TestServer {
        var quotas = Quotas.unlimited
        for (quota, limit) in limits { quotas[quota] = limit }
        return try TestServer(quotas: quotas)
    }

    private func createGroup(_ uuid: String = UUID().uuidString, as phone: Phone, _ server: TestServer)
        -> FakeConnection
    {
        server.send(CreateSharingGroupRequest(sharingGroupUUID: SharingGroupUUID(uuid)!), as: phone)
    }

    private func invite(as phone: Phone, _ server: TestServer) -> FakeConnection {
        server.send(CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: phone.group), as: phone)
    }

    @Test("Groups: one beyond the limit is rejected and not created, but a repeated request is accepted, as are others")
    func groups() throws {
        let server = try server([.groups: 3])
        let alice = try server.signUp()
        let last = UUID().uuidString
        #expect(createGroup(as: alice, server).status == 200)
        #expect(createGroup(last, as: alice, server).status == 200)

        let refused = createGroup(as: alice, server)

        #expect(refused.status == 409)
        #expect(refused.code == "quota_groups")
        #expect(refused.header("retry-after") == nil)
        #expect(refused.json["retryable"] as? Bool == false)
        #expect(createGroup(last, as: alice, server).status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM sharing_groups") == 3)
        #expect(server.refusals.quotas == [.groups])
        let bob = try server.signUp("bob")
        #expect(createGroup(as: bob, server).status == 200)
        // Leaving a group makes room.
        let leaving = server.send(
            RemoveSharingGroupRequest(sharingGroupUUID: SharingGroupUUID(last)!, masterVersion: MasterVersion(0)),
            as: alice)
        #expect(leaving.status == 200)
        #expect(createGroup(as: alice, server).status == 200)
    }

    @Test("Groups: of many concurrent requests, as many succeed as the user may have")
    func groupRace() throws {
        let server = try server([.groups: 4])
        let alice = try server.signUp()

        let codes = try concurrently(8) { _ in createGroup(as: alice, server).status }.map { try $0.get() }

        #expect(codes.filter { $0 == 200 }.count == 3)
        #expect(codes.filter { $0 == 409 }.count == 5)
        #expect(try server.count("SELECT COUNT(*) FROM memberships") == 4)
    }

    @Test("Joining a group also counts; the redemption is rolled back")
    func joining() throws {
        let server = try server([.groups: 1])
        let (alice, bob) = (try server.signUp(), try server.signUp("bob"))
        let invitation = try #require(
            (invite(as: alice, server).json["sharingInvitationUUID"] as? String).flatMap { SharingInvitationUUID($0) })

        let refused = server.send(RedeemSharingInvitationRequest(sharingInvitationUUID: invitation), as: bob)

        #expect(refused.code == "quota_groups")
        #expect(try server.count("SELECT remaining_acceptors FROM invitations") == 1)
        #expect(try server.count("SELECT SUM(master_version) FROM sharing_groups") == 0)
    }

    @Test("Groups within an hour: rejected with Retry-After, even after a new sign-up; then accepted")
    func groupRate() throws {
        let server = try server([.groupsPerHour: 2])
        let alice = try server.signUp()
        #expect(createGroup(as: alice, server).status == 200)

        let refused = createGroup(as: alice, server)

        #expect(refused.status == 429)
        #expect(refused.code == "quota_group_rate")
        #expect(refused.json["retryable"] as? Bool == true)
        let delay = try #require(refused.header("retry-after").flatMap { Int($0) })
        #expect((3_500...3_600).contains(delay))
        #expect(server.send(RemoveUserRequest(), as: alice).status == 200)
        var other = alice
        other.group = SharingGroupUUID(UUID().uuidString)!
        let again = server.send(AddUserRequest(sharingGroupUUID: other.group, cloudFolderName: "F"), as: other)
        #expect(again.code == "quota_group_rate")
        #expect(try server.count("SELECT COUNT(*) FROM users") == 0)
        try server.execute("UPDATE quota_windows SET window_end = UTC_TIMESTAMP()")
        #expect(
            server.send(AddUserRequest(sharingGroupUUID: other.group, cloudFolderName: "F"), as: other).status == 200)
    }

    @Test("Invitations: the limit on open ones lasts until one is removed, that on new ones until the hour is over")
    func invitations() throws {
        let open = try server([.openInvitations: 2])
        let alice = try open.signUp()
        for _ in 1...2 { #expect(invite(as: alice, open).status == 200) }
        #expect(invite(as: alice, open).code == "quota_invitations")
        #expect(try open.count("SELECT COUNT(*) FROM invitations") == 2)
        try open.execute("UPDATE invitations SET expires_at = '2020-01-01' LIMIT 1")
        #expect(invite(as: alice, open).status == 200)

        let hourly = try server([.invitationsPerHour: 2])
        let bob = try hourly.signUp("bob")
        for _ in 1...2 { #expect(invite(as: bob, hourly).status == 200) }
        #expect(invite(as: bob, hourly).code == "quota_invitation_rate")
        #expect(try hourly.count("SELECT COUNT(*) FROM invitations") == 2)
    }

    @Test("Staged changes: one beyond the limit is rejected and its object deleted; a commit frees the quota")
    func stagedChanges() throws {
        let server = try server([.stagedChanges: 2])
        let alice = try server.signUp()
        let second = someFile()
        let bytes = someBytes(9)
        #expect(server.upload(someBytes(9), of: someFile(), by: alice).status == 200)
        #expect(server.upload(bytes, of: second, by: alice).status == 200)

        let refused = server.upload(someBytes(9), of: someFile(), by: alice)

        #expect(refused.status == 409)
        #expect(refused.code == "quota_staged_changes")
        #expect(server.upload(bytes, of: second, by: alice).status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 2)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'") == 1)
        // Another device of the same user counts for the same user.
        var tablet = alice
        tablet.device = DeviceUUID(UUID().uuidString)!
        #expect(server.upload(someBytes(9), of: someFile(), by: tablet).code == "quota_staged_changes")
        #expect(server.commit(from: 0, by: alice).status == 200)
        #expect(server.upload(someBytes(9), of: someFile(), master: 1, by: alice).status == 200)
        #expect(
            server.send(
                UploadDeletionRequest(
                    fileUUID: second, fileVersion: .first, masterVersion: MasterVersion(1),
                    sharingGroupUUID: alice.group), as: alice
            ).status == 200)
    }

    @Test("While the limit is far away, staged changes are not counted, but the limit holds for 64 processes together")
    func allowances() {
        let user = UserID(1)
        let processes = (0..<StagedAllowances.processes).map { _ in StagedAllowances() }
        let (limit, bytesLimit) = (1_000, 100_000)
        var (staged, counts) = (0, 0)

        // Each process counts at another time, and the limit is checked after each count, as in a request.
        staging: for _ in 0..<limit {
            for process in processes {
                staged += 1
                if process.take(10, of: user) { continue }
                counts += 1
                guard staged <= limit else { break staging }
                process.renew(changes: limit - staged, bytes: bytesLimit - 10 * staged, of: user)
            }
        }

        #expect((limit...limit + StagedAllowances.processes).contains(staged))
        #expect(counts < staged)
        // A single process counts rarely.
        processes[0].renew(changes: 25_000, bytes: nil, of: user)
        #expect((0..<390).allSatisfy { _ in processes[0].take(1_000_000, of: user) })
        #expect(!processes[0].take(0, of: user) && !processes[0].take(0, of: UserID(2)))
        processes[0].renew(changes: nil, bytes: 64, of: user)
        #expect(processes[0].take(1, of: user) && !processes[0].take(1, of: user))
    }

    @Test("The total size of staged metadata is limited")
    func stagedBytes() throws {
        let server = try server([.stagedBytes: 20])
        let alice = try server.signUp()
        let files = [someFile(), someFile()]
        for file in files { #expect(server.upload(someBytes(9), of: file, by: alice).status == 200) }
        #expect(server.commit(from: 0, by: alice).status == 200)
        let set = { (file: FileUUID, text: String) in
            server.send(
                UploadAppMetaDataRequest(
                    fileUUID: file, appMetaData: AppMetaData(version: AppMetaDataVersion(0), contents: text),
                    masterVersion: MasterVersion(1), sharingGroupUUID: alice.group), as: alice)
        }

        #expect(set(files[0], String(repeating: "x", count: 15)).status == 200)
        let refused = set(files[1], "123456")

        #expect(refused.code == "quota_staged_bytes")
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 1)
        #expect(set(files[1], "12345").status == 200)
        // As if other devices had staged as much at the same moment: a change that adds nothing is not rejected.
        try server.execute(
            """
            INSERT INTO staged_changes
                   (user_id, device_uuid, sharing_group_id, file_uuid, kind, app_metadata, app_metadata_version, staged_at,
                    app_metadata_bytes)
            SELECT user_id, UUID(), sharing_group_id, file_uuid, kind, app_metadata, app_metadata_version, staged_at,
                   app_metadata_bytes
              FROM staged_changes
            """)
        #expect(set(files[1], "12345").status == 200)
        #expect(set(files[1], "1234").code == "quota_staged_bytes")
    }

    @Test("Codes: exchanges within an hour are limited; a known code does not count")
    func codeExchanges() throws {
        let server = try server([.codeExchangesPerHour: 2])
        let alice = try server.signUp()
        let check = { (code: String) in
            server.send(CheckCredsRequest(), as: alice, adding: [.authorizationCode: code])
        }

        #expect(check("one").status == 200)
        #expect(check("two").status == 200)
        let refused = check("three")

        #expect(refused.status == 429)
        #expect(refused.code == "quota_code_exchange_rate")
        #expect(server.exchanges.codes == ["one", "two"])
        #expect(check("two").status == 200)
        try server.execute("UPDATE quota_windows SET window_end = UTC_TIMESTAMP()")
        // The rejection has not used up the code.
        #expect(check("three").status == 200)
    }

    @Test("Push: registrations within an hour are limited, even if another process has the key")
    func pushRegistrations() throws {
        var quotas = Quotas.unlimited
        quotas[.pushRegistrationsPerHour] = 2
        var push = PushServices()
        push.elsewhere = [.apns]
        let server = try TestServer(push: push, quotas: quotas)
        let alice = try server.signUp()
        let register = { (kind: PushNotificationKind) in
            server.send(
                RegisterPushNotificationTokenRequest(pushNotificationToken: "abcd", pushNotificationKind: kind),
                as: alice)
        }

        #expect(register(.fcm).code == "push_not_configured")
        for _ in 1...2 { #expect(register(.apns).status == 200) }
        #expect(register(.apns).code == "quota_push_registration_rate")
        #expect(try server.count("SELECT COUNT(*) FROM push_registrations WHERE kind = 'apns'") == 1)
    }

    @Test("Devices: one beyond the limit is rejected with the code that clients know, and counted")
    func devices() throws {
        let server = try server([.devices: 1])
        var alice = try server.signUp()
        #expect(server.send(CheckCredsRequest(), as: alice).status == 200)
        alice.device = DeviceUUID(UUID().uuidString)!

        let refused = server.send(CheckCredsRequest(), as: alice)

        #expect(refused.status == 409)
        #expect(refused.code == "too_many_devices")
        #expect(server.refusals.quotas == [.devices])
    }

    @Test("Without limits nothing is counted")
    func unlimited() throws {
        let server = try server([:])
        let alice = try server.signUp()
        for _ in 1...5 { #expect(createGroup(as: alice, server).status == 200) }

        #expect(try server.count("SELECT COUNT(*) FROM quota_windows") == 0)
    }
}
