import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Content moves in the database")
struct AccountMoveTests {
    private let switches: SwitchFixture
    private var fixture: StoreFixture { switches.fixture }
    private var alice: Member { switches.alice }

    init() throws { switches = try SwitchFixture() }

    /// Switches Alice's account, leaving `files` files to be moved.
    private func begin(files: Int) throws -> AccountMove {
        try switches.addFiles(files)
        let id = try switches.propose()
        _ = try switches.confirm(id, moving: try switches.formerAccount())
        return try #require(try fixture.store.withSession { try $0.accountMove(of: id) })
    }

    private func file(_ number: Int) throws -> FileUUID {
        try #require(FileUUID("00000000-0000-0000-0000-\(String(repeating: "0", count: 11))\(number)"))
    }

    private func lease(by owner: String, at now: WireDate = noon) throws -> AccountMove? {
        try fixture.store.transaction { try $0.leaseMove(by: owner, until: noon(plus: 180), at: now) }
    }

    private func next(_ move: AccountMove, at now: WireDate = noon) throws -> (
        content: MovingContent, file: FileRecord
    )? {
        try fixture.store.transaction { session in
            try session.nextMovingContent(of: move.switchID, former: move.former, at: now)
        }
    }

    @Test("A confirmation with 10,000 files quickly records where they are, and the former account")
    func large() throws {
        let clock = ContinuousClock()
        var move: AccountMove?
        let took = try clock.measure { move = try begin(files: 10_000) }

        // About a second on an idle machine with two cores.
        #expect(took < .seconds(15), "\(took)")
        print("10,000 files to be moved: \(took)")
        #expect(try fixture.count("SELECT COUNT(*) FROM moving_contents") == 10_000)
        #expect(move?.former.accountType == .google && move?.former.accountEpoch == AccountEpoch(0))
        #expect(move?.credentials == [9] && move?.state == .moving)
        let begun = try #require(move)
        let (content, former) = try #require(try next(begun))
        #expect(content.objectID == "object-with-an-identifier-1" && content.objectRevision == "r")
        #expect(former.owningUser == OwningUser(userID: alice.user, storageType: .google))
        #expect(former.contentState == .stored && former.objectID == content.objectID)
    }

    @Test("Tokens renewed while the former account was tried do not return to their old state")
    func renewed() throws {
        try switches.addFiles(1)
        let id = try switches.propose()
        let former = try switches.formerAccount()
        _ = try fixture.store.transaction { try $0.storeCredentials([2], of: alice.user) }

        #expect(throws: StoreError.self) { try switches.confirm(id, moving: former) }

        #expect(try fixture.count("SELECT COUNT(*) FROM account_moves") == 0)
        #expect(try switches.user.accountEpoch == AccountEpoch(0))
    }

    @Test("One process at a time leases a move, until the lease ends; a process that lost its lease is informed")
    func lease() throws {
        let move = try begin(files: 2)

        #expect(try lease(by: "one")?.switchID == move.switchID)
        #expect(try lease(by: "two") == nil)
        #expect(
            try fixture.store.transaction { try $0.renewMove(move.switchID, by: "one", until: noon(plus: 200)) })
        #expect(try lease(by: "two", at: noon(plus: 199)) == nil)
        #expect(try lease(by: "two", at: noon(plus: 200)) != nil)
        #expect(
            try !fixture.store.transaction { try $0.renewMove(move.switchID, by: "one", until: noon(plus: 400)) })

        try fixture.store.transaction { try $0.postponeMove(move.switchID, by: "two", until: noon, error: "why") }
        #expect(try lease(by: "three")?.attempts == 1)
        try fixture.store.transaction { try $0.postponeMove(move.switchID, by: "three", until: noon) }
        let free = try lease(by: "four")
        #expect(free?.attempts == 0 && free?.lastError == nil)
    }

    @Test("Files that no longer wait, or wait for another version, leave the move, and the next waiting file comes up")
    func superseded() throws {
        let move = try begin(files: 4)
        try fixture.store.withSession { session in
            try session.executeScript(
                """
                UPDATE files SET is_deleted = TRUE WHERE file_uuid LIKE '%1';
                UPDATE files SET file_version = 4 WHERE file_uuid LIKE '%2';
                UPDATE files SET content_state = 'missing' WHERE file_uuid LIKE '%3'
                """)
        }

        let found = try #require(try next(move))

        #expect(found.content.fileUUID == (try file(4)))
        #expect(try fixture.count("SELECT COUNT(*) FROM moving_contents") == 1)
    }

    @Test(
        "A postponed file comes after the others, an abandoned one does not come again, and both are counted")
    func setbacks() throws {
        let move = try begin(files: 3)
        let first = try #require(try next(move)).content
        try fixture.store.transaction { try $0.postpone(first, of: move.switchID, until: noon(plus: 60)) }
        let second = try #require(try next(move)).content
        try fixture.store.transaction { try $0.giveUp(second, of: move.switchID, "other bytes") }

        #expect(try next(move, at: noon(plus: 60))?.content.fileUUID == (try file(3)))
        let third = try #require(try next(move)).content
        try fixture.store.transaction { try $0.giveUp(third, of: move.switchID, "not found") }
        #expect(try next(move) == nil)
        #expect(try next(move, at: noon(plus: 60))?.content.attempts == 1)
        #expect(try fixture.store.withSession { try $0.nextMovingTime(of: move.switchID) } == noon(plus: 60))
        #expect(try fixture.store.withSession { try $0.failedCount(of: move.switchID) } == 2)
    }

    @Test("A file that a device or a move uploads again leaves the move; until then downloads find the former object")
    func restored() throws {
        _ = try begin(files: 1)
        let (file, group) = (try file(1), alice.area.groupID)
        let row = try #require(try fixture.store.withSession { try $0.file(file, in: group) })
        let found = try fixture.store.withSession { try $0.movingContent(of: row, in: group) }
        #expect(found?.file.objectID == "object-with-an-identifier-1")

        let content = StoredContent(
            owningUser: OwningUser(userID: alice.user, storageType: .dropbox),
            checkSum: try #require(CheckSum(String(repeating: "a", count: 64))), sha256: nil, sizeBytes: 1_000,
            objectID: "new", objectRevision: nil, providerHash: nil)
        try fixture.store.transaction { session in
            try session.restoreContent(content, of: file, from: row.deviceUUID, in: group)
        }

        #expect(try fixture.count("SELECT COUNT(*) FROM moving_contents") == 0)
        #expect(try fixture.store.withSession { try $0.movingContent(of: row, in: group) } == nil)
    }

    @Test(
        "A user who returns to the former account has the unmoved files at once, but only in the same folder"
    )
    func back() throws {
        for (folder, isBack) in [("another", false), ("folder", true)] {
            _ = try fixture.store.withSession { session in
                try session.executeScript(
                    """
                    DELETE FROM moving_contents; DELETE FROM account_moves; DELETE FROM files;
                    DELETE FROM account_switches; DELETE FROM retired_accounts;
                    UPDATE users SET account_type = 'Google', provider_user_id = 'left', cloud_folder_name = 'folder',
                                     account_epoch = 0
                     WHERE user_id = \(alice.user.rawValue)
                    """)
            }
            _ = try begin(files: 2)
            let id = try switches.propose(to: "left", .google, folder: folder)

            let confirmed = try switches.confirm(id, epoch: 1)

            #expect(confirmed.filesTotal == (isBack ? 0 : 2))
            #expect(
                try fixture.count(
                    """
                    SELECT COUNT(*) FROM files
                     WHERE content_state = 'stored' AND object_id LIKE 'object-with%' AND storage_type = 'Google'
                    """) == (isBack ? 2 : 0))
            #expect(try fixture.count("SELECT COUNT(*) FROM account_moves WHERE credentials IS NOT NULL") == 0)
            #expect(try fixture.count("SELECT COUNT(*) FROM moving_contents") == 0)
        }
    }

    @Test("Moves that ended long ago are deleted, with the files that could not be moved")
    func forgotten() throws {
        let move = try begin(files: 2)
        let content = try #require(try next(move)).content
        try fixture.store.transaction { session in
            try session.giveUp(content, of: move.switchID, "other bytes")
            try session.endMove(move.switchID, as: .failed, error: "revoked", at: noon)
        }
        #expect(try fixture.count("SELECT COUNT(*) FROM moving_contents") == 1)

        #expect(try fixture.store.transaction { try $0.forgetEndedMoves(before: noon, limit: 9) } == 0)
        #expect(try fixture.store.transaction { try $0.forgetEndedMoves(before: noon(plus: 1), limit: 9) } == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM moving_contents") == 0)
    }
}
