import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

/// Counts the rows that the server examines for each statement, in tables where a full scan would show.
///
/// The server's own session counters are used instead of `EXPLAIN`, so the repositories' real statements are measured
/// as they run (https://mariadb.com/kb/en/server-status-variables/, `Handler_read_…`).
///
/// Serialized, because statements that skip locked rows examine more of them while another session holds locks.
@Suite("Every statement of a request finds its rows by an index", .serialized)
struct IndexUseTests {
    /// Fifty groups with a hundred files each, and as much of everything else.
    private struct Crowd: Sendable {
        /// Shared by all tests, since each rolls back its changes.
        static let shared = Result { try Crowd() }

        let fixture: StoreFixture
        var store: MetadataStore { fixture.store }
        let group = SharingGroupUUID("group 7")!
        let groupID = SharingGroupID(7)
        let user = UserID(7)
        let owner = OwningUser(userID: UserID(7), storageType: .google)
        let file = FileUUID("00000000-0000-0000-0000-000000000507")!
        var area: StagingArea { StagingArea(userID: user, deviceUUID: device, groupID: groupID) }
        let device = DeviceUUID("00000000-0000-0000-0000-000000000007")!

        private init() throws {
            fixture = try StoreFixture(connections: 5)
            var connection = try Connection(fixture.settings)
            try connection.executeScript(
                """
                INSERT INTO users (user_id, account_type, provider_user_id, display_name, created_at)
                SELECT seq, 'Google', seq, 'x', '2026-01-01' FROM seq_1_to_2000;
                INSERT INTO devices
                SELECT seq, CONCAT('00000000-0000-0000-0000-', LPAD(seq, 12, '0')), '2026-01-01' FROM seq_1_to_2000;
                INSERT INTO sharing_groups (sharing_group_id, sharing_group_uuid, created_at)
                SELECT seq, CONCAT('group ', seq), '2026-01-01' FROM seq_1_to_2000;
                INSERT INTO memberships
                SELECT seq, seq, NULL, 'admin', CONCAT('00000000-0000-0000-0000-', LPAD(seq, 12, '0')), '2026-01-01'
                  FROM seq_1_to_2000;
                INSERT INTO invitations
                SELECT CONCAT('00000000-0000-0000-0000-', LPAD(seq, 12, '0')), seq, seq, seq, 'write', TRUE, 5,
                       '2027-01-15' + INTERVAL seq MINUTE
                  FROM seq_1_to_2000;
                INSERT INTO files
                       (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                        mime_type, file_version, check_sum, object_id, changed_at_master_version)
                SELECT seq MOD 50, CONCAT('00000000-0000-0000-0000-', LPAD(seq, 12, '0')), seq MOD 50, 'Google',
                       '00000000-0000-0000-0000-000000000001', '2026-01-01', '2026-01-01', 'text/plain', 0, 'ab', CONCAT('object ', seq), 0
                  FROM seq_1_to_5000;
                INSERT INTO staged_changes
                       (user_id, device_uuid, sharing_group_id, file_uuid, kind, owning_user_id, storage_type, object_id,
                        check_sum, staged_at)
                SELECT seq MOD 50, CONCAT('00000000-0000-0000-0000-', LPAD(seq MOD 50, 12, '0')), seq MOD 50,
                       CONCAT('00000000-0000-0000-0001-', LPAD(seq, 12, '0')), 'metadata', seq MOD 50, 'Google',
                       CONCAT('staged ', seq), 'ab', '2027-01-15' + INTERVAL seq MINUTE
                  FROM seq_1_to_5000;
                INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, lease_owner, created_at)
                SELECT 'deleteObject', seq MOD 50, 'Google', CONCAT('doomed ', seq), '2027-01-15' + INTERVAL seq MINUTE,
                       'w', '2026-01-01'
                  FROM seq_1_to_5000;
                INSERT INTO exchanged_codes (code_hash, credentials, exchanged_at, account_hash)
                SELECT UNHEX(SHA2(seq, 256)), 'x', '2027-01-15' + INTERVAL seq MINUTE,
                       UNHEX(SHA2(CONCAT('Google ', seq), 256))
                  FROM seq_1_to_2000;
                INSERT INTO outbox
                       (kind, user_id, account_type, account_hash, credentials, available_at, created_at)
                SELECT 'revokeGrant', seq, 'Google', UNHEX(SHA2(CONCAT('Google ', seq), 256)), 'x',
                       '2028-01-15', '2026-01-01'
                  FROM seq_1_to_2000;
                INSERT INTO commits
                SELECT seq MOD 50, '00000000-0000-0000-0000-000000000007', seq MOD 50, UUID(), REPEAT('x', 32), 1, 1,
                       '2027-01-15' + INTERVAL seq MINUTE
                  FROM seq_1_to_2000;
                INSERT INTO commit_members
                SELECT seq MOD 50, '00000000-0000-0000-0000-000000000007', seq MOD 50, UUID(), UUID(), REPEAT('x', 32),
                       NULL, NULL, '2027-01-15' + INTERVAL seq MINUTE
                  FROM seq_1_to_2000;
                INSERT INTO batches
                SELECT seq MOD 50, '00000000-0000-0000-0000-000000000007', seq MOD 50, UUID(), 2, 1, NULL,
                       '2027-01-15' + INTERVAL seq MINUTE
                  FROM seq_1_to_2000;
                INSERT INTO quota_windows
                SELECT UNHEX(SHA2(CONCAT('Google ', seq), 256)), 'groupsPerHour', '2027-01-15' + INTERVAL seq MINUTE, 1
                  FROM seq_1_to_2000;
                ANALYZE TABLE quota_windows, users, devices, sharing_groups, memberships, invitations, files, staged_changes, outbox,
                              exchanged_codes, commits, commit_members, batches
                """)
        }

        /// Rows that the server examines for `body`, which is rolled back: the smallest of three results, because the
        /// counters include the reads that reopen a table that the server closed for lack of room, alongside many other
        /// tests.
        func rowsRead(_ body: (inout StoreSession) throws -> Void) throws -> Int {
            var least = Int.max
            for _ in 0..<3 { least = min(least, try rowsReadOnce(body)) }
            return least
        }

        private func rowsReadOnce(_ body: (inout StoreSession) throws -> Void) throws -> Int {
            struct Undo: Error {}
            var rows = 0
            do {
                try store.transaction { session in
                    let start = try Self.counter(&session)
                    let overhead = try Self.counter(&session) - start
                    let before = try Self.counter(&session)
                    try body(&session)
                    rows = try Self.counter(&session) - before - overhead
                    throw Undo()
                }
            } catch is Undo {}
            return rows
        }

        private static func counter(_ session: inout StoreSession) throws -> Int {
            var sum = 0
            try session.connection.query("SHOW SESSION STATUS LIKE 'Handler_read%'") { (row) throws(MariaDBError) in
                sum += Int(try row.text(1)) ?? 0
            }
            return sum
        }
    }

    @Test("No single read or write of a request examines more than a few rows [F55]")
    func singleRows() throws {
        let crowd = try Crowd.shared.get()
        let expect: (String, Int, (inout StoreSession) throws -> Void) throws -> Void = { name, maximum, body in
            let rows = try crowd.rowsRead(body)
            #expect((0...maximum).contains(rows), "\(name): \(rows) rows")
        }
        let invitation = SharingInvitationUUID("00000000-0000-0000-0000-000000000007")!
        let hash = [UInt8](repeating: 1, count: 32)

        try expect("user by account", 6) { _ = try $0.user(.google, "7", device: crowd.device) }
        try expect("user by number", 3) { _ = try $0.user(crowd.user) }
        try expect("credentials", 3) { _ = try $0.credentials(of: crowd.user) }
        try expect("store credentials", 3) { _ = try $0.storeCredentials([1], of: crowd.user, ifVersion: 0) }
        try expect("folder", 6) { _ = try $0.replaceCloudFolder(of: crowd.user, at: AccountEpoch(0), nil, by: "f") }
        try expect("device", 8) { _ = try $0.register(crowd.device, of: crowd.user, maximum: 5, at: noon) }
        try expect("quota, used", 8) { _ = try $0.use(.groupsPerHour, by: .google, "7", limit: 5) }
        try expect("quota, groups", 4) { _ = try $0.groupCount(of: crowd.user) }
        try expect("quota, invitations", 4) { _ = try $0.openInvitationCount(by: crowd.user, at: noon) }
        // The user's own hundred.
        try expect("quota, staged", 104) { _ = try $0.stagedSize(of: crowd.user) }
        try expect("membership", 8) { _ = try $0.membership(of: crowd.user, in: crowd.group) }
        try expect("is member", 3) { _ = try $0.isMember(crowd.user, of: crowd.groupID) }
        try expect("groups of user", 16) { _ = try $0.groups(of: crowd.user) }
        try expect("joined by", 6) { _ = try $0.group(joinedBy: crowd.user, through: invitation) }
        try expect("advance", 3) { _ = try $0.advanceMasterVersion(of: crowd.groupID, from: MasterVersion(0)) }
        try expect("advance, stale", 4) { _ = try $0.advanceMasterVersion(of: crowd.groupID, from: MasterVersion(9)) }
        try expect("hold", 3) { _ = try $0.lockMasterVersionShared(of: crowd.groupID) }
        try expect("rename", 3) { try $0.rename(crowd.groupID, to: "x") }
        try expect("remembered", 3) { _ = try $0.lastCommit(of: crowd.groupID) }
        try expect("file", 3) { _ = try $0.file(crowd.file, in: crowd.groupID, locked: true) }
        try expect("live elsewhere", 4) { _ = try $0.isLiveElsewhere(crowd.file, otherThan: crowd.groupID) }
        try expect("staged change", 3) { _ = try $0.stagedChange(of: crowd.file, in: crowd.area) }
        let caller = UserRecord(
            userID: crowd.user, accountType: .google, providerUserID: "7", displayName: "x", cloudFolderName: nil,
            cloudFolderID: nil, accountEpoch: AccountEpoch(0))
        try expect("upload situation", 9) {
            _ = try $0.uploadSituation(of: crowd.file, by: caller, on: crowd.device, in: crowd.group)
        }
        try expect("membership with file", 10) {
            _ = try $0.membership(of: crowd.user, in: crowd.group, with: crowd.file)
        }
        try expect("stage first", 3) { session in
            _ = try session.stageFirst(.metaData(of: crowd.file, version: 0), in: crowd.area, at: noon)
        }
        try expect("stage first from a version", 5) { session in
            _ = try session.stageFirst(
                .metaData(of: crowd.file, version: 0), in: crowd.area, from: MasterVersion(0), at: noon)
        }
        try expect("claim", 6) { _ = try $0.claimStaging(of: crowd.file, in: crowd.area, at: noon) }
        try expect("stage", 3) { try $0.stage(.metaData(of: crowd.file, version: 0), in: crowd.area, at: noon) }
        try expect("unstage", 3) { try $0.unstage(crowd.file, in: crowd.area) }
        try expect("invitation", 5) { _ = try $0.invitation(invitation, at: noon(plus: -1_000_000)) }
        try expect("use acceptance", 5) { _ = try $0.useAcceptance(of: invitation, at: noon(plus: -1_000_000)) }
        try expect("code", 3) { _ = try $0.exchangedCode(hash) }
        try expect("reserve code", 6) { session in
            _ = try session.reserveCode(hash, of: .google, "7", for: "w", seconds: 30, at: noon)
            try session.releaseCode(hash, by: "w")
        }
        try expect("codes of a user", 6) { try $0.spendCodes(of: crowd.user) }
        try expect("pending revocation", 4) { _ = try $0.pendingRevocation(of: .google, "7") }
        try expect("cancel revocations", 6) {
            _ = try $0.cancelRevocations(of: .google, "7", isGrantKept: false)
        }
        try expect("begin revocation", 3) { _ = try $0.beginRevocation(OutboxID(7), by: "w", seconds: 30) }
        try expect("object in files", 3) { _ = try $0.isReferenced("object 507", of: crowd.owner) }
        try expect("object in staged changes", 5) { _ = try $0.isReferenced("staged 507", of: crowd.owner) }
        try expect("object of nobody", 5) { _ = try $0.isReferenced("nobody's", of: crowd.owner) }
        let item = OutboxID(7)
        try expect("renew", 6) { _ = try $0.renewLease(of: item, by: "w", until: noon) }
        try expect("release", 3) { try $0.releaseLease(of: item, by: "w", at: noon) }
        let leased = OutboxItem(
            id: item, userID: crowd.user,
            work: .inStorage(.deleteObject(ObjectReference(objectID: "o")), of: crowd.owner), attempts: 0)
        try expect("postpone", 8) { _ = try $0.postpone(leased, by: "w", until: noon, error: "x", at: noon) }
        try expect("complete leased", 8) { _ = try $0.complete(leased, by: "w", at: noon) }
        try expect("record", 3) { try $0.record(objectID: "o", in: item, by: "w") }
        let ticket = BatchTicket(
            batch: UploadBatch(batchUUID: someBatch(), batchCount: 2), masterVersion: MasterVersion(0),
            requestHash: hash)
        let commit = ticket.batch.batchUUID.commitID
        let recorded = IdentifiedCommit(requestHash: hash, masterVersion: MasterVersion(1), transferred: 1)
        // Counting the members examines the device's staged changes in the group: 100 here.
        try expect("join batch", 110) { _ = try $0.joinBatch([(ticket, crowd.file)], in: crowd.area, at: noon) }
        try expect("leave batch", 3) { try $0.leaveBatch(with: crowd.file, in: crowd.area) }
        try expect("record commit", 3) { try $0.record(recorded, as: commit, in: crowd.area, at: noon) }
        try expect("recorded commit", 3) { _ = try $0.identifiedCommit(commit, in: crowd.area) }
        try expect("committed member", 3) {
            _ = try $0.committedMember(of: commit, changing: crowd.file, in: crowd.area)
        }
        try expect("describe members", 6) { _ = try $0.describeMembers(of: crowd.groupID) }
        try expect("open invitations", 6) { _ = try $0.openInvitations(to: crowd.groupID, at: noon) }
        try expect("complete", 3) { _ = try $0.complete(item, by: "w") }
        try expect("pages of no change", 3) { session in
            try session.scheduleIndexPages(
                ofChangesIn: crowd.groupID, as: MasterVersion(9), availableAt: noon, at: noon)
        }
        try expect("pages of a group's owners", 12) { session in
            try session.scheduleIndexPages(ofOwnersIn: crowd.groupID, availableAt: noon, at: noon)
        }
        try expect("page", 3) { _ = try $0.indexPage(of: crowd.user) }
    }

    @Test("The row counter detects a full scan")
    func meter() throws {
        let crowd = try Crowd.shared.get()

        #expect(
            try crowd.rowsRead { session in
                _ = try session.first("SELECT COUNT(*) FROM files WHERE mime_type = 'x'", []) { _ in }
            } >= 5_000)
    }

    @Test("Adoption examines one file and the outbox rows of one object")
    func adoption() throws {
        let crowd = try Crowd.shared.get()
        let record = try #require(try crowd.store.withSession { try $0.file(crowd.file, in: crowd.groupID) })

        let rows = try crowd.rowsRead { session throws in
            #expect(try session.adopt(objectID: "o", revision: nil, as: record, in: crowd.groupID))
        }

        #expect(rows <= 6)
    }

    @Test("A listing examines the rows of its group, without sorting them")
    func listings() throws {
        let crowd = try Crowd.shared.get()
        let membership = try #require(
            try crowd.store.withSession { try $0.membership(of: crowd.user, in: crowd.group) })

        // 100 files, 100 staged changes.
        #expect(
            try crowd.rowsRead { session in
                var writer = IndexResponseWriter()
                writer.beginFiles(masterVersion: MasterVersion(0))
                try session.writeFiles(of: membership, to: &writer)
            } <= 105)
        // Nothing has changed after version 0.
        #expect(
            try crowd.rowsRead { session in
                var writer = IndexResponseWriter()
                writer.beginFiles(masterVersion: MasterVersion(0))
                try session.writeFiles(of: membership, changedAfter: MasterVersion(0), to: &writer)
            } <= 3)
        #expect((100...105).contains(try crowd.rowsRead { _ = try $0.stagedChanges(in: crowd.area) }))
        #expect((100...105).contains(try crowd.rowsRead { _ = try $0.changesToCommit(in: crowd.area) }))
        #expect((100...105).contains(try crowd.rowsRead { _ = try $0.unstageCommitted(in: crowd.area, of: nil) }))
        #expect((100...105).contains(try crowd.rowsRead { _ = try $0.takeStaged(in: crowd.area) }))
    }

    @Test("A commit of new files examines only them and the staged rows, however many files the group has")
    func commitOfNewFiles() throws {
        let crowd = try Crowd.shared.get()
        var area = crowd.area
        area.deviceUUID = DeviceUUID("00000000-0000-0000-0000-00000000ffff")!
        let rows = try crowd.rowsRead { session in
            for _ in 0..<3 {
                let change = StagedChange.upload(of: someFile(), version: 0, object: "o", owner: crowd.owner)
                _ = try session.stageFirst(change, in: area, at: noon)
            }
            let count = try session.commitStaged(
                in: area, owningUser: crowd.owner, as: MasterVersion(1), at: noon)
            #expect(count == 3)
        }

        #expect((0...20).contains(rows), "\(rows) rows")
    }

    @Test("Leaving examines only the rows of the member and the group, and no table is scanned")
    func departures() throws {
        let crowd = try Crowd.shared.get()
        let version = MasterVersion(1)

        // 100 files and 100 staged changes, each examined a few times; every table has 2,000 rows or more.
        let counts = [
            try crowd.rowsRead { try $0.removeMember(crowd.user, from: crowd.groupID, as: version, at: noon) },
            try crowd.rowsRead { try $0.endGroup(crowd.groupID, as: version, at: noon) },
            try crowd.rowsRead { _ = try $0.removeUser(crowd.user, at: noon) },
        ]

        for count in counts { #expect(count < 1_800, "\(counts)") }
    }

    @Test("Leaving a large group with other members examines only the group's rows")
    func departureOfOneOfMany() throws {
        let crowd = try Crowd.shared.get()

        let count = try crowd.rowsRead { session in
            try session.addMember(
                UserID(8), to: crowd.groupID, permission: .admin, owningUserID: nil, invitation: nil, at: noon)
            try session.removeMember(crowd.user, from: crowd.groupID, as: MasterVersion(1), at: noon)
        }

        #expect(count < 1_800)
    }

    @Test("Batches examine as many rows as they commit, each of them twice")
    func batches() throws {
        let crowd = try Crowd.shared.get()
        let late = noon(plus: 10_000_000)

        #expect(try crowd.rowsRead { _ = try $0.leaseDue(by: "v", limit: 8, until: noon, at: late) } <= 40)
        #expect(try crowd.rowsRead { _ = try $0.withdrawAbandoned(stagedBefore: late, limit: 8, at: noon) } <= 40)
        #expect(
            try crowd.rowsRead { _ = try $0.withdrawStagedByStrangers(since: late, limit: 8, at: noon) } <= 40)
        #expect(try crowd.rowsRead { _ = try $0.forgetBatches(changedBefore: late, limit: 8) } <= 40)
        #expect(try crowd.rowsRead { _ = try $0.forgetCommits(before: late, limit: 8) } <= 40)
        #expect(try crowd.rowsRead { _ = try $0.removeExpiredInvitations(at: late, limit: 8) } <= 40)
        #expect(try crowd.rowsRead { _ = try $0.forgetExchangedCodes(before: late, limit: 8) } <= 40)
        #expect(
            try crowd.rowsRead { _ = try $0.leaseDue(by: "v", limit: 8, until: noon, at: noon(plus: -9_999_999)) } <= 3)
    }
}
