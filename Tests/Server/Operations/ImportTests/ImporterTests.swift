import MariaDB
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing
import Vault

@testable import Operations

@Suite("Importing an older server's database")
struct ImporterTests {
    private let fixture: ImportFixture
    private let first = "AAAAAAAA-0000-4000-8000-000000000001"

    init() throws { fixture = try ImportFixture() }

    @Test("Users keep their ids, names and devices, and rows that cannot be imported are reported")
    func users() throws {
        let report = try fixture.run()

        #expect(
            try fixture.rows("SELECT user_id, display_name, cloud_folder_name FROM users ORDER BY 1") == [
                "1|Alice|Pictures", "2|Bob|-", "3|Zé|-", "4|Mia|-", "5|Tim|-", "6|Broken|Pictures",
            ])
        #expect(try fixture.rows("SELECT COUNT(*) FROM devices") == ["2"])
        #expect(report.users.added == 6)
        #expect(report.rows(.unknownAccountType) == ["8"])
        #expect(report.rows(.credentialsUnreadable) == ["6"])
        #expect(report.rows(.deviceUUIDUnusable).contains("1"))
    }

    @Test("Push topics are imported, so that devices are notified before they register again")
    func topics() throws {
        let report = try fixture.run()

        #expect(report.users.pushTopics == 1)
        #expect(
            try fixture.rows("SELECT user_id, push_topic_arn FROM users WHERE push_topic_arn IS NOT NULL")
                == ["1|arn:aws:sns:us-west-2:123456789012:1"])
    }

    @Test("Tokens are sealed on import; none appears in our tables or in the report [F20]")
    func tokens() throws {
        let report = try fixture.run()

        #expect(try fixture.credentials(of: 1)?.refreshToken == "rt-1")
        #expect(try fixture.credentials(of: 3) == StoredCredentials(accessToken: "dt-3"))
        #expect(try fixture.credentials(of: 6) == nil)
        #expect(
            try fixture.rows(
                "SELECT COUNT(*) FROM users WHERE credentials LIKE '%rt-1%' OR credentials LIKE '%at-1%'") == ["0"])
        #expect(!"\(report)".contains("rt-1"))
    }

    @Test("Groups, members, files, staged changes and invitations are imported unchanged for clients")
    func groups() throws {
        let report = try fixture.run()
        let contents = try fixture.contents()

        // 12 at the source, plus one for the file whose owner has left.
        #expect(contents.contains("\(first)|Maryañ|13|0"))
        #expect(contents.contains("\(first)|1|-|admin"))
        #expect(contents.contains("\(first)|2|1|write"))
        #expect(contents.contains("\(first)|5|-|read"))
        #expect(
            contents.contains(
                "\(first)|FFFFFFFF-0000-4000-8000-000000000001|1|Google|DDDDDDDD-0000-4000-8000-000000000002|text/plain|"
                    + "{\"a\":\"ä\"}|4|0|7|b10a8db164e0754105b7a99be72e3fe5|2019-01-02 03:04:05|2019-02-03 04:05:06|-|13"
            ))
        #expect(
            contents.contains {
                $0.hasPrefix("\(first)|FFFFFFFF-0000-4000-8000-000000000003|0|Dropbox|")
                    && $0.contains("|no version|0|1|2|")
            })
        #expect(
            contents.contains {
                $0.contains("FFFFFFFF-0000-4000-8000-000000000007|4|Microsoft") && $0.contains("|0A4D55A8")
            })
        #expect(contents.contains("AAAAAAAA-0000-4000-8000-000000000002|Removed|3|1"))
        #expect(contents.contains("AAAAAAAA-0000-4000-8000-000000000003|Abandoned|5|1"))
        #expect(contents.contains("AAAAAAAA-0000-4000-8000-000000000004|-|0|0"))
        #expect(report.groups.stagedChangesAdded == 4)
        #expect(
            contents.contains("2|DDDDDDDD-0000-4000-8000-000000000002|EEEEEEEE-0000-4000-8000-000000000001|upload|0"))
        #expect(
            contents.contains("1|DDDDDDDD-0000-4000-8000-000000000001|FFFFFFFF-0000-4000-8000-000000000002|deletion|0"))
        #expect(report.groups.invitationsAdded == 1)
        #expect(contents.contains("BBBBBBBB-0000-4000-8000-000000000001|write|3"))
    }

    @Test("Every column of every imported row matches the source, including deleted files")
    func everyColumn() throws {
        try fixture.run()

        #expect(try fixture.columns(of: "files") == 21)
        let files = try fixture.rows(
            """
            SELECT RIGHT(g.sharing_group_uuid, 2), RIGHT(f.file_uuid, 2), f.file_group_uuid, f.owning_user_id,
                   f.storage_type, RIGHT(f.device_uuid, 2), f.created_at, f.updated_at, f.mime_type, f.app_metadata,
                   f.app_metadata_version, f.is_deleted, f.file_version, f.check_sum, f.sha256, f.size_bytes,
                   f.object_id, f.object_revision, f.provider_hash, f.changed_at_master_version, f.content_state
              FROM files f JOIN sharing_groups g USING (sharing_group_id) ORDER BY 1, 2
            """)
        #expect(
            files == [
                "01|01|Thread|1|Google|02|2019-01-02 03:04:05|2019-02-03 04:05:06|text/plain|{\"a\":\"ä\"}|4|0|7|"
                    + "b10a8db164e0754105b7a99be72e3fe5|-|-|-|-|-|13|stored",
                "01|02|-|1|Google|01|2019-02-03 04:05:06|2019-02-03 04:05:06|unknown|-|-|0|0|-|-|-|-|-|-|13|stored",
                "01|03|-|0|Dropbox|01|2019-01-02 03:04:05|2019-01-02 03:04:05|image/jpeg|no version|0|1|2|"
                    + String(repeating: "a", count: 64) + "|-|-|-|-|-|13|stored",
                "01|06|-|1|Google|01|2019-01-02 03:04:05|2019-01-02 03:04:05|image/jpeg||3|1|1|-|-|-|-|-|-|13|stored",
                "01|07|-|4|Microsoft|01|2019-01-02 03:04:05|2019-01-02 03:04:05|image/jpeg|-|-|0|0|"
                    + "0A4D55A8D778E5022FAB701977C5D840BBC486D0|-|-|-|-|-|13|stored",
                // A file of a group without members, and a file that is in two groups at the source.
                "03|09|-|1|Google|01|2019-01-02 03:04:05|2019-01-02 03:04:05|text/plain|-|-|1|0|-|-|-|-|-|-|5|stored",
                "04|01|-|1|Google|01|2019-01-02 03:04:05|2019-01-02 03:04:05|text/plain|-|-|0|0|-|-|-|-|-|-|0|stored",
            ])
        #expect(try fixture.columns(of: "staged_changes") == 25)
        let staged = try fixture.rows(
            """
            SELECT user_id, RIGHT(device_uuid, 2), RIGHT(g.sharing_group_uuid, 2), LEFT(file_uuid, 1),
                   RIGHT(file_uuid, 2), kind, file_group_uuid, s.created_at, updated_at, mime_type, app_metadata,
                   app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                   object_id, object_revision, provider_hash, staged_at, batch_uuid, batch_master_version,
                   batch_request_hash, app_metadata_bytes
              FROM staged_changes s JOIN sharing_groups g USING (sharing_group_id) ORDER BY 1, 4, 5
            """)
        #expect(
            staged == [
                "1|01|01|F|01|upload|-|-|2020-01-01 00:00:00|text/plain|-|-|8|b10a8db164e0754105b7a99be72e3fe5|-|-|1|"
                    + "Google|-|-|-|2027-01-15 08:00:00|-|-|-|0",
                "1|01|01|F|02|deletion|-|-|-|-|-|-|0|-|-|-|-|-|-|-|-|2027-01-15 08:00:00|-|-|-|0",
                "2|02|01|E|01|upload|Thread|2020-01-01 00:00:00|2020-01-01 00:00:00|text/plain|{}|0|0|"
                    + "b10a8db164e0754105b7a99be72e3fe5|-|-|1|Google|-|-|-|2027-01-15 08:00:00|-|-|-|2",
                "2|02|01|F|01|metadata|-|-|-|-|m|5|-|-|-|-|-|-|-|-|-|2027-01-15 08:00:00|-|-|-|1",
            ])
        #expect(try fixture.columns(of: "invitations") == 8)
        let invitations = try fixture.rows(
            """
            SELECT RIGHT(i.invitation_uuid, 2), RIGHT(g.sharing_group_uuid, 2), inviting_user_id, owning_user_id,
                   permission, allows_social_acceptance, remaining_acceptors, expires_at
              FROM invitations i JOIN sharing_groups g USING (sharing_group_id)
            """)
        #expect(
            invitations == ["01|01|1|1|write|1|3|2027-01-15 10:00:00"])
        #expect(try fixture.columns(of: "memberships") == 6)
        let memberships = try fixture.rows(
            """
            SELECT RIGHT(g.sharing_group_uuid, 2), user_id, owning_user_id, permission, invitation_uuid, joined_at
              FROM memberships m JOIN sharing_groups g USING (sharing_group_id) ORDER BY 1, 2
            """)
        #expect(
            memberships == [
                "01|1|-|admin|-|2027-01-15 08:00:00", "01|2|1|write|-|2027-01-15 08:00:00",
                "01|5|-|read|-|2027-01-15 08:00:00", "04|3|-|admin|-|2027-01-15 08:00:00",
                "04|6|-|write|-|2027-01-15 08:00:00",
            ])
        #expect(try fixture.columns(of: "devices") == 3)
        #expect(
            try fixture.rows("SELECT user_id, RIGHT(device_uuid, 2), registered_at FROM devices ORDER BY 1") == [
                "1|01|2027-01-15 08:00:00", "2|02|2027-01-15 08:00:00",
            ])
    }

    @Test("A file later deleted or restored at the source is deleted or restored by the next run")
    func deletedLater() throws {
        try fixture.run()
        try fixture.atSource("UPDATE FileIndex SET deleted = 1 - deleted WHERE fileIndexId IN (6, 7)")

        try fixture.run(at: WireDate(secondsSince1970: noon.secondsSince1970 + 60))

        #expect(
            try fixture.rows("SELECT is_deleted FROM files WHERE file_uuid RLIKE '0[67]$' ORDER BY file_uuid")
                == ["0", "1"])
    }

    @Test(
        "Every row that is not imported unchanged is in the report, with its reason",
        arguments: [
            (.memberUnknown, 1), (.permissionUnknown, 1), (.owningUserGone, 1), (.fileUUIDUnusable, 1),
            (.mimeTypeUnknown, 1), (.ownerGone, 1), (.dateUnusable, 2), (.checkSumUnusable, 1), (.fileInTwoGroups, 1),
            (.groupWithoutMembers, 1), (.masterVersionMissing, 1), (.uploadStateUnused, 1), (.uploadIncomplete, 1),
            (.uploaderNotAMember, 1), (.invitationExpired, 1), (.invitationOwnerGone, 1), (.invitationUnusable, 1),
            (.appMetaDataVersionMissing, 1), (.appMetaDataMissing, 1), (.belongsToNothing, 3),
        ] as [(ImportNote.Reason, Int)])
    func report(_ reason: ImportNote.Reason, _ count: Int) throws {
        #expect(try fixture.run().rows(reason).count == count)
    }

    @Test("A second run changes nothing")
    func twice() throws {
        try fixture.run()
        let before = try fixture.contents()
        let sealed = try fixture.rows("SELECT user_id, credentials_version, HEX(credentials) FROM users ORDER BY 1")

        let report = try fixture.run()

        #expect(try fixture.contents() == before)
        #expect(
            try fixture.rows("SELECT user_id, credentials_version, HEX(credentials) FROM users ORDER BY 1") == sealed)
        #expect(report.users.unchanged == 6)
        #expect(report.users.added + report.users.updated + report.users.devicesAdded == 0)
        #expect(report.groups.unchanged == 4)
        #expect(report.groups.filesWritten + report.groups.stagedChangesAdded + report.groups.invitationsAdded == 0)
    }

    @Test("A dry run reports what a real one does, but writes nothing")
    func dryRun() throws {
        let plan = try fixture.run(dryRun: true)
        #expect(try fixture.contents().isEmpty)

        var report = try fixture.run()

        report.isDryRun = true
        #expect(plan == report)
    }

    @Test("New and changed rows of the source are imported by the next run")
    func changedAtSource() throws {
        try fixture.run()
        try fixture.here(
            "UPDATE files SET object_id = 'found' WHERE file_uuid LIKE '%01' OR file_uuid LIKE '%07'")
        try fixture.atSource(
            """
            UPDATE MasterVersion SET masterVersion = 14 WHERE sharingGroupUUID = '\(first)';
            UPDATE FileIndex SET fileVersion = 8 WHERE fileIndexId = 1;
            UPDATE User SET creds = '{"accessToken":"new","refreshToken":"rt-1"}' WHERE userId = 1;
            DELETE FROM SharingGroupUser WHERE sharingGroupUUID = '\(first)' AND userId = 5;
            INSERT INTO User VALUES (20, 'New', 'Facebook', 'f20', '{}', NULL, NULL);
            """)

        let report = try fixture.run(at: WireDate(secondsSince1970: noon.secondsSince1970 + 60))

        #expect(report.users.added == 1)
        #expect(report.users.updated == 1)
        #expect(report.groups.updated == 1)
        #expect(report.groups.unchanged == 3)
        #expect(try fixture.credentials(of: 1)?.accessToken == "new")
        let contents = try fixture.contents()
        #expect(contents.contains("\(first)|Maryañ|15|0"))
        #expect(!contents.contains("\(first)|5|-|read"))
        // The findings about a file are deleted only with its version.
        let objects = try fixture.rows(
            """
            SELECT file_uuid, object_id FROM files JOIN sharing_groups USING (sharing_group_id)
             WHERE sharing_group_uuid LIKE '%01' AND file_uuid RLIKE '0[17]$' ORDER BY 1
            """)
        #expect(
            objects == ["FFFFFFFF-0000-4000-8000-000000000001|-", "FFFFFFFF-0000-4000-8000-000000000007|found"])
    }

    @Test("A group changed here is left unchanged and reported, regardless of the source's contents")
    func changedHere() throws {
        try fixture.run()
        try fixture.here(
            "UPDATE sharing_groups SET master_version = 14, name = 'Ours' WHERE sharing_group_uuid = '\(first)'")
        try fixture.atSource("UPDATE MasterVersion SET masterVersion = 40 WHERE sharingGroupUUID = '\(first)'")
        let before = try fixture.contents()

        let report = try fixture.run()

        #expect(report.rows(.changedHereSince) == [first])
        #expect(report.groups.leftAlone == 1)
        #expect(try fixture.contents() == before)
    }

    @Test("A user who has signed in here since keeps those tokens; a removed user is not added again")
    func peopleHere() throws {
        try fixture.run()
        try fixture.store.transaction { session in
            let record = try fixture.sealer.seal(StoredCredentials(accessToken: "here"), for: .user(UserID(1)))
            try session.storeCredentials(record, of: UserID(1))
        }
        try fixture.here(
            """
            DELETE FROM memberships WHERE user_id = 2;
            DELETE FROM devices WHERE user_id = 2;
            DELETE FROM users WHERE user_id = 2;
            UPDATE sharing_groups SET master_version = 14 WHERE sharing_group_uuid = '\(first)';
            """)
        try fixture.atSource("UPDATE User SET creds = '{\"accessToken\":\"there\"}' WHERE userId = 1")

        let report = try fixture.run()

        #expect(try fixture.credentials(of: 1)?.accessToken == "here")
        #expect(report.rows(.signedInHereSince) == ["1"])
        #expect(report.rows(.removedHereSince) == ["2"])
        #expect(try fixture.rows("SELECT COUNT(*) FROM users WHERE user_id = 2") == ["0"])
    }

    @Test("An id that is taken here is replaced; a group with the same UUID created here is left unchanged")
    func collisions() throws {
        try fixture.here(
            """
            INSERT INTO users (user_id, account_type, provider_user_id, display_name, created_at)
            VALUES (2, 'Google', 'native', 'Native', NOW());
            INSERT INTO sharing_groups (sharing_group_uuid, created_at)
            VALUES ('aaaaaaaa-0000-4000-8000-000000000004', NOW());
            """)

        let report = try fixture.run()

        #expect(report.rows(.userNumberTaken) == ["2"])
        #expect(report.rows(.groupMadeHere) == ["AAAAAAAA-0000-4000-8000-000000000004"])
        let bob = try #require(
            try fixture.rows("SELECT user_id FROM users WHERE provider_user_id = 'facebook-2'").first)
        #expect(bob != "2")
        #expect(try fixture.contents().contains("\(first)|\(bob)|1|write"))
    }

    @Test("Staged changes and invitations that were used or withdrawn here are not restored")
    func usedUp() throws {
        try fixture.run()
        try fixture.here("DELETE FROM invitations; DELETE FROM staged_changes")

        try fixture.run(at: WireDate(secondsSince1970: noon.secondsSince1970 + 60))

        #expect(try fixture.rows("SELECT COUNT(*) FROM invitations") == ["0"])
        #expect(try fixture.rows("SELECT COUNT(*) FROM staged_changes") == ["0"])
    }

    @Test("A database that does not belong to SyncServerII is rejected, with a list of what is missing")
    func notASource() throws {
        try fixture.atSource("DROP TABLE MasterVersion; ALTER TABLE User DROP COLUMN creds")

        let error = #expect(throws: SourceError.self) { try fixture.run() }

        guard case .notASource(let problems)? = error else {
            Issue.record("not rejected")
            return
        }
        #expect(problems == ["User has no column creds", "there is no table MasterVersion"])
        #expect(try fixture.contents().isEmpty)
    }
}
