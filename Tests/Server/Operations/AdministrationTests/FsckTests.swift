import OpenSSLCrypto
import Operations
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@Suite("fsck")
struct FsckTests {
    /// Damage done by hand, and the code that fsck must report for it.
    struct Damage: CustomTestStringConvertible, Sendable {
        var code: String
        var sql: String
        var testDescription: String { code }

        init(_ code: String, _ sql: String) {
            self.code = code
            self.sql = sql
        }
    }

    static let damages = [
        Damage("membershipOfNothing", "INSERT INTO memberships VALUES (1, 99, NULL, 'read', NULL, NOW())"),
        Damage("memberOfEndedGroup", "UPDATE sharing_groups SET is_deleted = TRUE"),
        Damage("groupWithoutMembers", "DELETE FROM memberships"),
        Damage("groupReadOnly", "UPDATE sharing_groups SET is_restoring = TRUE"),
        Damage("groupWithoutAdmin", "UPDATE memberships SET permission = 'write'"),
        Damage("memberWithForeignOwner", "UPDATE memberships SET owning_user_id = 99 WHERE user_id = 2"),
        Damage("memberWithOwnerWithoutStorage", "UPDATE memberships SET owning_user_id = 2 WHERE user_id = 2"),
        Damage("commitFromTheFuture", "UPDATE sharing_groups SET last_commit_version = 6"),
        Damage("invitationToNothing", "UPDATE invitations SET sharing_group_id = 99"),
        Damage("invitationByNobody", "UPDATE invitations SET inviting_user_id = 99"),
        Damage("invitationUsedUp", "UPDATE invitations SET remaining_acceptors = 0"),
        Damage("deviceOfNobody", "UPDATE devices SET user_id = 99 WHERE user_id = 2"),
        Damage(
            "pushRegistrationOfNobody",
            """
            INSERT INTO push_registrations (user_id, device_uuid, kind, token, token_hash, registered_at)
            VALUES (99, 'DDDDDDDD-0000-4000-8000-000000000002', 'fcm', 't', REPEAT('t', 32), NOW())
            """),
        Damage("storageWithoutFolder", "UPDATE users SET cloud_folder_name = NULL"),
        Damage("ownerWithoutTokens", "UPDATE users SET credentials = NULL"),
        Damage("fileOfNoGroup", "UPDATE files SET sharing_group_id = 99 WHERE is_deleted"),
        Damage(
            "liveFileInEndedGroup",
            "UPDATE sharing_groups SET is_deleted = TRUE; DELETE FROM memberships; DELETE FROM invitations"),
        Damage("liveFileWithoutOwner", "UPDATE files SET owning_user_id = 99"),
        Damage("fileInOtherStorage", "UPDATE files SET storage_type = 'Dropbox', check_sum = REPEAT('a', 64)"),
        Damage("deletedFileWithObject", "UPDATE files SET object_id = 'x' WHERE is_deleted"),
        Damage("changeFromTheFuture", "UPDATE files SET changed_at_master_version = 6"),
        Damage(
            "fileLiveTwice",
            """
            INSERT INTO sharing_groups (sharing_group_id, sharing_group_uuid, master_version, created_at)
            VALUES (2, 'other', 4, NOW());
            INSERT INTO memberships VALUES (2, 1, NULL, 'admin', NULL, NOW());
            INSERT INTO files SELECT 2, f.file_uuid, f.file_group_uuid, f.owning_user_id, f.storage_type, f.device_uuid,
                   f.created_at, f.updated_at, f.mime_type, f.app_metadata, f.app_metadata_version, f.is_deleted,
                   f.file_version, f.check_sum, f.sha256, f.size_bytes, f.object_id, f.object_revision,
                   f.provider_hash, f.changed_at_master_version, f.content_state
              FROM files f WHERE NOT f.is_deleted
            """),
        Damage("objectOfTwoFiles", "UPDATE files SET object_id = 'object-1', is_deleted = FALSE"),
        Damage("impossibleVersion", "UPDATE files SET file_version = -1"),
        Damage("metaDataIncomplete", "UPDATE files SET app_metadata_version = 3"),
        Damage("checkSumOfOtherStorage", "UPDATE files SET check_sum = REPEAT('A', 40)"),
        Damage("contentUnknown", "UPDATE files SET size_bytes = NULL"),
        Damage("unusableIdentifier", "UPDATE files SET device_uuid = 'phone'"),
        Damage(
            "accountActiveAndRetired",
            """
            INSERT INTO retired_accounts (account_type, provider_user_id, user_id, retired_at)
            SELECT account_type, provider_user_id, user_id, NOW() FROM users WHERE user_id = 1
            """),
        Damage(
            "switchedTwice",
            """
            INSERT INTO account_switches (switch_uuid, user_id, state, from_account_type, to_account_type,
                                          to_provider_user_id, begun_at, expires_at)
            VALUES ('a', 1, 'reuploading', 'Google', 'Dropbox', 'p', NOW(), NOW()),
                   ('b', 1, 'reuploading', 'Google', 'Dropbox', 'p', NOW(), NOW())
            """),
        Damage("waitingWithObject", "UPDATE files SET content_state = 'missing' WHERE NOT is_deleted"),
        Damage(
            "waitingForNobody", "UPDATE files SET content_state = 'awaiting', object_id = NULL WHERE NOT is_deleted"),
        Damage("moveWithoutTokens", Self.move(epoch: -1, state: "moving", credentials: "NULL")),
        Damage("moveOutOfPresentAccount", Self.move(epoch: 0, state: "moving", credentials: "'c'")),
        Damage(
            "movingForNobody",
            Self.move(epoch: -1, state: "failed", credentials: "NULL")
                + "; INSERT INTO moving_contents (switch_uuid, sharing_group_id, file_uuid, file_version, available_at)"
                + " VALUES ('a', 1, 'f', 0, NOW())"),
        Damage("stagedInNoGroup", "UPDATE staged_changes SET sharing_group_id = 99"),
        Damage("stagedByNonMember", "UPDATE staged_changes SET user_id = 99"),
        Damage("stagedUploadIncomplete", "UPDATE staged_changes SET kind = 'upload'"),
        Damage("batchMemberWithoutBatch", "UPDATE staged_changes SET batch_uuid = '\(AdministrationFixture.device)'"),
        Damage(
            "batchOfNobody",
            "INSERT INTO batches VALUES (99, 'd', 1, 'b', 1, 5, NULL, NOW())"),
        Damage(
            "commitOfNobody",
            "INSERT INTO commit_members VALUES (99, 'd', 1, 'c', 'f', REPEAT('h', 32), NULL, NULL, NOW())"),
        Damage("contentHashOfNobody", "INSERT INTO content_hashes VALUES (99, 'o', 'h', 'aa', NOW())"),
        Damage("indexPageOfNobody", "INSERT INTO index_pages (user_id, object_id) VALUES (99, 'o')"),
        Damage(
            "manifestOfNobody", "INSERT INTO manifests VALUES (1, 99, 'Google', 5, 1, 'o', NULL, 7, NOW())"),
        Damage("workOfNobody", "UPDATE outbox SET user_id = 99"),
        Damage("workIncomplete", "UPDATE outbox SET object_id = NULL"),
        Damage("workInOtherStorage", "UPDATE outbox SET storage_type = 'Microsoft'"),
        Damage("workStuck", "UPDATE outbox SET attempts = 12, last_error = 'quota exceeded'"),
        Damage("workFarOff", "UPDATE outbox SET available_at = '2099-01-01'"),
        Damage("tokensUnreadable", "UPDATE users SET credentials = CONCAT(credentials, 'x') WHERE user_id = 1"),
    ]

    /// A statement that inserts an account move of user 1.
    private static func move(epoch: Int, state: String, credentials: String) -> String {
        """
        INSERT INTO account_moves (switch_uuid, user_id, account_epoch, account_type, provider_user_id, credentials,
                                   state, available_at, begun_at)
        VALUES ('a', 1, \(epoch), 'Google', 'former', \(credentials), '\(state)', NOW(), NOW())
        """
    }

    @Test("A consistent database is clean")
    func clean() throws {
        let fixture = try AdministrationFixture()

        let report = FsckReport(findings: try fsck(fixture).run())

        #expect(report.findings == [])
        #expect(report.isGood)
        #expect(report.text == "clean")
    }

    @Test("An account switch is clean when proposed, when confirmed with changes staged by others, and when finished")
    func accountSwitch() throws {
        let fixture = try AdministrationFixture()
        let user = try #require(try fixture.store.withSession { try $0.user(UserID(1)) })
        let tokens = try #require(try fixture.store.withSession { try $0.credentials(of: user.userID) })
        let id = try #require(AccountSwitchID(AdministrationFixture.device))
        let now = AdministrationFixture.now
        let account = ProposedAccount(
            accountType: .dropbox, providerUserID: "dbid:1", cloudFolderName: nil, cloudFolderID: nil,
            credentials: tokens.record, hasOfflineAccess: true)
        func codes() throws -> [String] { try fsck(fixture).run().filter { $0.severity != .note }.map(\.code) }

        try fixture.store.transaction { session in
            try session.propose(
                id, of: user, to: account, until: WireDate(secondsSince1970: now.secondsSince1970 + 60), at: now)
        }
        let proposed = try codes()
        try fixture.store.transaction { session in
            _ = try session.confirmSwitch(id, expecting: AccountEpoch(0), at: now)
        }
        let confirmed = try codes()
        let details = try fixture.store.snapshot { try $0.userDetails(user.userID) }
        try fixture.store.transaction { session in
            _ = try session.finishSwitch(id, of: user.userID, .keepGone, at: now)
        }
        let finished = try codes()

        #expect(proposed + confirmed + finished == [])
        #expect(details?.ownedFiles.withoutBytes ?? 0 > 0)
        let text = details?.text ?? ""
        for part in ["former     Google account", "to a Dropbox account", "until they are uploaded again"] {
            #expect(text.contains(part), "\(text)")
        }
    }

    @Test("Every rule has a test")
    func complete() {
        let rules = Invariant.all.map(\.code)

        #expect(Set(rules).count == rules.count)
        #expect(Set(rules).isSubset(of: Self.damages.map(\.code)))
    }

    @Test(
        "Each kind of damage is reported; a repair fixes it if it is repairable, and changes nothing else",
        arguments: damages)
    func named(_ damage: Damage) throws {
        let fixture = try AdministrationFixture()
        try fixture.run(damage.sql)
        let fsck = fsck(fixture)
        let before = try fsck.run()

        let finding = try #require(before.first { $0.code == damage.code }, "found \(before.map(\.code))")
        #expect(!finding.rows.isEmpty)
        #expect(finding.rows.allSatisfy { !$0.row.contains("?") && !$0.detail.isEmpty }, "\(finding.rows)")

        let repairs = try fsck.repair(before, at: AdministrationFixture.now)
        let after = try fsck.run()

        let wasRepairable = finding.repair != nil
        #expect(after.contains { $0.code == damage.code } == !wasRepairable)
        #expect(repairs.contains { $0.code == damage.code && $0.rows > 0 } == wasRepairable)
        #expect(after.allSatisfy { finding in before.contains { $0.code == finding.code } }, "\(after.map(\.code))")
    }

    @Test("The rules marked as repairable are those that the store repairs")
    func repairable() {
        for rule in Invariant.all { #expect((rule.repair != nil) == repairs(rule.code)) }
    }

    @Test("Files of a missing owner are marked deleted with a new master version, which phones see")
    func ownerless() throws {
        let fixture = try AdministrationFixture()
        try fixture.run("UPDATE files SET owning_user_id = 99 WHERE NOT is_deleted")
        let fsck = fsck(fixture)

        _ = try fsck.repair(try fsck.run(), at: AdministrationFixture.now)

        #expect(try fixture.number("SELECT master_version FROM sharing_groups") == 6)
        #expect(
            try fixture.number(
                "SELECT COUNT(*) FROM files WHERE is_deleted AND owning_user_id = 99 AND changed_at_master_version = 6")
                == 1)
    }

    @Test(
        "A member whose owner is wrong loses the storage; members whose owner is right keep theirs",
        arguments: [99, 2])
    func otherMembers(owner: Int) throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO users (user_id, account_type, provider_user_id, display_name, created_at)
            VALUES (3, 'Facebook', 'f-3', 'Carol', '2026-01-03'), (4, 'Facebook', 'f-4', 'Dan', '2026-01-03');
            INSERT INTO memberships VALUES (1, 3, \(owner), 'read', NULL, '2026-01-03'), (1, 4, 1, 'read', NULL, NOW());
            """)
        let fsck = fsck(fixture)

        let repairs = try fsck.repair(try fsck.run(), at: AdministrationFixture.now)

        #expect(repairs.map(\.rows) == [1])
        #expect(try fixture.number("SELECT COUNT(*) FROM memberships WHERE owning_user_id = 1") == 2)
        #expect(try fixture.number("SELECT user_id FROM memberships WHERE user_id > 1 AND owning_user_id IS NULL") == 3)
    }

    @Test("A repair removes only rows without an owner")
    func othersKeepTheirs() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO batches VALUES (2, 'd', 1, 'b', 2, 5, NULL, NOW()), (99, 'd', 1, 'b', 2, 5, NULL, NOW());
            INSERT INTO commits VALUES (1, 'd', 1, 'c', REPEAT('h', 32), 1, 1, NOW()),
                   (99, 'd', 1, 'c', REPEAT('h', 32), 1, 1, NOW());
            INSERT INTO commit_members VALUES (1, 'd', 1, 'c', 'f', REPEAT('h', 32), NULL, NULL, NOW()),
                   (99, 'd', 1, 'c', 'f', REPEAT('h', 32), NULL, NULL, NOW());
            INSERT INTO content_hashes VALUES (1, 'o', 'h', 'aa', NOW()), (99, 'o', 'h', 'aa', NOW());
            INSERT INTO staged_changes
                   (user_id, device_uuid, sharing_group_id, file_uuid, kind, app_metadata, app_metadata_version, staged_at)
            SELECT 99, device_uuid, sharing_group_id, file_uuid, kind, app_metadata, app_metadata_version, staged_at
              FROM staged_changes;
            INSERT INTO invitations
            VALUES ('EEEEEEEE-0000-4000-8000-000000000002', 1, 99, 1, 'write', TRUE, 1, '2099-01-01'),
                   ('EEEEEEEE-0000-4000-8000-000000000003', 1, 1, 1, 'write', TRUE, 0, '2099-01-01');
            INSERT INTO departed_users (user_id, account_type, provider_user_id, credentials, forgotten_at)
            VALUES (50, 'Google', 'g-50', 'x', '2099-01-01');
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at)
            VALUES ('deleteObject', 50, 'Google', 'o', NOW(), NOW()), ('deleteObject', 99, 'Google', 'o', NOW(), NOW());
            INSERT INTO sharing_groups (sharing_group_id, sharing_group_uuid, master_version, is_deleted, created_at)
            VALUES (2, 'AAAAAAAA-0000-4000-8000-000000000002', 5, TRUE, NOW());
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, is_deleted, file_version, check_sum, sha256, size_bytes, object_id,
                    changed_at_master_version)
            SELECT 2, 'F0F0F0F0-0000-4000-8000-000000000009', owning_user_id, storage_type, device_uuid, created_at,
                   updated_at, mime_type, is_deleted, file_version, check_sum, sha256, size_bytes, 'object-9', 4
              FROM files WHERE NOT is_deleted
            """)
        let fsck = fsck(fixture)

        _ = try fsck.repair(try fsck.run(), at: AdministrationFixture.now)

        #expect(try fixture.number("SELECT SUM(user_id) FROM batches") == 2)
        #expect(try fixture.number("SELECT SUM(user_id) FROM commits") == 1)
        #expect(try fixture.number("SELECT SUM(user_id) FROM commit_members") == 1)
        #expect(try fixture.number("SELECT SUM(user_id) FROM content_hashes") == 1)
        #expect(try fixture.number("SELECT SUM(user_id) FROM staged_changes") == 2)
        #expect(try fixture.number("SELECT COUNT(*) FROM invitations") == 1)
        #expect(try fixture.number("SELECT SUM(user_id) FROM outbox") == 51)
        #expect(try fixture.number("SELECT SUM(sharing_group_id) FROM files WHERE NOT is_deleted") == 1)
    }

    @Test("Tokens sealed with an unknown key are reported")
    func unknownKey() throws {
        let fixture = try AdministrationFixture()
        let other = CredentialSealer(keys: KeyRing(current: try SealingKey([UInt8](repeating: 9, count: 32))))
        try fixture.seal(StoredCredentials(accessToken: "a"), for: AdministrationFixture.alice, with: other)

        #expect(try fsck(fixture).run().map(\.code) == ["tokensUnderUnknownKey"])
    }

    @Test("Many findings are summarised, the most severe first")
    func order() throws {
        let fixture = try AdministrationFixture()
        try fixture.run("UPDATE files SET file_version = -1; UPDATE invitations SET remaining_acceptors = 0")

        let findings = try Fsck(store: fixture.store, sealer: fixture.sealer, rowLimit: 1).run()

        #expect(findings.map(\.severity) == findings.map(\.severity).sorted(by: >))
        let versions = try #require(findings.first { $0.code == "impossibleVersion" })
        #expect(versions.rows.count == 1)
        #expect(versions.more)
    }

    private func fsck(_ fixture: AdministrationFixture) -> Fsck {
        Fsck(store: fixture.store, sealer: fixture.sealer, rowLimit: 10)
    }

    private func repairs(_ code: String) -> Bool {
        guard let damage = Self.damages.first(where: { $0.code == code }),
            let fixture = try? AdministrationFixture(), (try? fixture.run(damage.sql)) != nil,
            let findings = try? fsck(fixture).run()
        else { return false }
        return findings.first { $0.code == code }?.repair != nil
    }
}
