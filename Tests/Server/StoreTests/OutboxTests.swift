import MariaDB
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("Outbox")
struct OutboxTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner = OwningUser(userID: UserID(1), storageType: .google)

    init() throws {
        fixture = try StoreFixture()
        // The first user in an empty database.
        #expect(try fixture.addUser() == owner.userID)
    }

    @discardableResult
    private func add(_ object: String, at time: WireDate = noon) throws -> OutboxID {
        try store.transaction { try $0.addDeletion(of: object, in: owner, availableAt: time, at: noon) }
    }

    private func lease(by worker: String, limit: Int = 100, until: WireDate = noon(plus: 60), at time: WireDate = noon)
        throws
        -> [OutboxItem]
    {
        try store.transaction { try $0.leaseDue(by: worker, limit: limit, until: until, at: time) }
    }

    @Test("Due work is leased completely, the oldest first")
    func lease() throws {
        let late = try add("late", at: noon(plus: 1))
        let second = try add("second", at: noon)
        let first = try add("first", at: noon(plus: -1))
        try store.transaction { try $0.addWarningFile(for: owner, at: noon(plus: 2)) }

        #expect(try lease(by: "w", limit: 1).map(\.id) == [first])
        let item = try #require(try lease(by: "w").first)
        #expect(
            item
                == OutboxItem(
                    id: second, userID: owner.userID,
                    work: .inStorage(.deleteObject(ObjectReference(objectID: "second")), of: owner), attempts: 0))
        #expect(try lease(by: "w").isEmpty)
        let later = try lease(by: "w", at: noon(plus: 2))
        #expect(later.map(\.id).first == late)
        #expect(later.map(\.kind) == [.deleteObject, .writeWarningFile])
    }

    @Test("Work without the data of its kind is leased as such, and does not delay other work")
    func incomplete() throws {
        var connection = try Connection(fixture.settings)
        try connection.executeScript(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, push_target, available_at, created_at)
            VALUES ('deleteObject', 1, 'Google', NULL, NULL, '2020-01-01', '2020-01-01'),
                   ('deleteObject', 1, NULL, 'o', NULL, '2020-01-02', '2020-01-01'),
                   ('hashObject', 1, 'Google', NULL, NULL, '2020-01-03', '2020-01-01'),
                   ('sendPush', 1, NULL, NULL, 'group', '2020-01-04', '2020-01-01'),
                   ('removePushTopic', 1, NULL, NULL, NULL, '2020-01-05', '2020-01-01'),
                   ('revokeGrant', 1, NULL, NULL, NULL, '2020-01-06', '2020-01-01')
            """)
        try add("o")

        let items = try lease(by: "w")

        let kinds: [OutboxItem.Kind] = [
            .deleteObject, .deleteObject, .hashObject, .sendPush, .removePushTopic, .revokeGrant,
        ]
        #expect(items.dropLast().map(\.work) == kinds.map { .incomplete($0) })
        #expect(items.last?.work == .inStorage(.deleteObject(ObjectReference(objectID: "o")), of: owner))
    }

    @Test("A lease excludes other workers until it expires; then the work is due again, with its attempts counted")
    func leaseRunsOut() throws {
        try add("o")
        let item = try #require(try lease(by: "one", until: noon(plus: 60)).first)

        #expect(try lease(by: "two", at: noon(plus: 59)).isEmpty)
        let again = try #require(try lease(by: "two", at: noon(plus: 60)).first)
        #expect(again.id == item.id)
        #expect(again.attempts == 1)
        // The first worker has lost its lease.
        #expect(try !store.transaction { try $0.complete(item.id, by: "one") })
        #expect(try !store.transaction { try $0.renewLease(of: item.id, by: "one", until: noon(plus: 999)) })
        #expect(try store.transaction { try $0.complete(item.id, by: "two") })
        #expect(try !store.transaction { try $0.complete(item.id, by: "two") })
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("Work that now belongs to another user is neither completed nor postponed for the former one")
    func passedOn() throws {
        try add("o")
        let heir = try fixture.addUser()
        let item = try #require(try lease(by: "w").first)
        let takeOver: (UserID) throws -> Void = { user in
            var connection = try Connection(fixture.settings)
            try connection.execute("UPDATE outbox SET user_id = ?", [.int(user.rawValue)])
        }
        try takeOver(heir)

        let ended = try store.transaction { try $0.complete(item, by: "w", at: noon(plus: 5)) }
        #expect(ended == .passedOn)
        #expect(try lease(by: "w", at: noon(plus: 4)).isEmpty)
        let again = try #require(try lease(by: "w", at: noon(plus: 5)).first)
        #expect(again.id == item.id && again.userID == heir && again.owner?.userID == heir)

        try takeOver(item.userID)
        let putOff = try store.transaction { session in
            try session.postpone(again, by: "w", until: noon(plus: 99), error: "x", at: noon(plus: 6))
        }
        #expect(putOff == .passedOn)
        let third = try #require(try lease(by: "w", at: noon(plus: 6)).first)
        let lost = try store.transaction { try $0.complete(third, by: "another", at: noon(plus: 7)) }
        #expect(lost == .lostBefore)
        #expect(try lease(by: "w", at: noon(plus: 8)).isEmpty, "another worker cannot end the lease")
        let end = try store.transaction { try $0.complete(third, by: "w", at: noon(plus: 8)) }
        #expect(end == .asAsked)
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("An upload waits while its owner is removed, and then fails")
    func intentOfNobody() throws {
        let gone = OwningUser(userID: UserID(4_711), storageType: .google)

        #expect {
            _ = try store.transaction { session in
                try session.addIntent(
                    toStore: "o", named: ["n"], in: gone, at: AccountEpoch(0), leaseOwner: "upload",
                    until: noon(plus: 90), at: noon)
            }
        } throws: { error in
            if case StoreError.notFound = error { true } else { false }
        }
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("Only its holder can renew a lease, even twice within a second")
    func renewal() throws {
        let item = try store.transaction { session in
            try session.addIntent(
                toStore: "o", named: ["n"], in: owner, at: AccountEpoch(0), leaseOwner: "upload", until: noon(plus: 10),
                at: noon)
        }
        let renew: (String) throws -> Bool = { worker in
            try store.transaction { try $0.renewLease(of: item, by: worker, until: noon(plus: 100)) }
        }

        #expect(try renew("upload"))
        #expect(try renew("upload"))
        #expect(try !renew("another"))
        #expect(try lease(by: "w", at: noon(plus: 99)).isEmpty)
        let leased = try lease(by: "w", at: noon(plus: 100))
        #expect(leased.map(\.objectID) == ["o"])
        #expect(leased.map(\.objectNames) == [["n"]])
        #expect(try !renew("upload"), "another worker has taken over the work")
    }

    @Test("An abandoned intent is due at once; a completed one is removed")
    func intentEnds() throws {
        let add: (String) throws -> OutboxID = { worker in
            try store.transaction { session in
                try session.addIntent(
                    toStore: nil, named: [worker], in: owner, at: AccountEpoch(0), leaseOwner: worker,
                    until: noon(plus: 100), at: noon)
            }
        }
        let (given, done) = (try add("a"), try add("b"))

        try store.transaction { session in
            try session.releaseLease(of: done, by: "a", at: noon)
            try session.releaseLease(of: given, by: "a", at: noon)
            #expect(try session.complete(done, by: "b"))
        }

        let due = try lease(by: "w")
        #expect(due.map(\.id) == [given])
        #expect(due.map(\.objectID) == [nil])
    }

    @Test("Postponed work is due at its time, even if its reason is too long")
    func postponed() throws {
        try add("o")
        let item = try #require(try lease(by: "w").first)

        try store.transaction { session in
            try session.record(objectID: "chosen", in: item.id, by: "w")
            let end = try session.postpone(
                item, by: "w", until: noon(plus: 30), error: String(repeating: "é", count: 400), at: noon)
            #expect(end == .asAsked)
        }

        #expect(try lease(by: "v", at: noon(plus: 29)).isEmpty)
        #expect(try lease(by: "v", at: noon(plus: 30)).map(\.objectID) == ["chosen"])
        #expect(try fixture.count("SELECT CHAR_LENGTH(last_error) FROM outbox") == 255)
    }

    @Test("Any number of concurrent workers process every row exactly once")
    func manyWorkers() throws {
        for number in 0..<200 { try add("object \(number)") }

        let outcomes = concurrently(6) { number in
            var done: [String] = []
            while true {
                let items = try lease(by: "worker \(number)", limit: 7)
                if items.isEmpty, try fixture.count("SELECT COUNT(*) FROM outbox") == 0 { return done }
                for item in items {
                    #expect(item.attempts == 0)
                    done.append(item.objectID!)
                    #expect(try store.transaction { try $0.complete(item.id, by: "worker \(number)") })
                }
            }
        }

        #expect(outcomes.failures().map { "\($0)" } == [])
        #expect(outcomes.successes().flatMap { $0 }.sorted() == (0..<200).map { "object \($0)" }.sorted())
    }

    @Test("A worker skips rows that another is leasing, instead of waiting for them")
    func skipsLocked() throws {
        for number in 0..<4 { try add("object \(number)", at: noon(plus: Int64(number) - 10)) }

        try store.transaction { session in
            let mine = try session.leaseDue(by: "one", limit: 2, until: noon(plus: 60), at: noon)
            let others = try lease(by: "two")
            #expect(mine.map(\.objectID) == ["object 0", "object 1"])
            #expect(others.map(\.objectID) == ["object 2", "object 3"])
        }
    }

    @Test("The statistics count due work, and report since when it has been due")
    func statistics() throws {
        #expect(try store.withSession { try $0.outboxStatistics(at: noon) } == (due: 0, oldest: nil))
        try add("a")
        try add("later", at: noon(plus: 100))

        let statistics = try store.withSession { try $0.outboxStatistics(at: noon) }
        #expect(statistics.due == 1)
        #expect(statistics.oldest == noon)
    }

    // MARK: Referenced objects

    @Test("Only a committed file or a staged change refers to an object")
    func isReferenced() throws {
        let member = try fixture.addOwner()
        let storage = try #require(try member.owningUser())
        let isReferenced: (String, OwningUser) throws -> Bool = { object, owner in
            try store.transaction { try $0.isReferenced(object, of: owner) }
        }
        let file = try member.addFile(object: "committed")
        let staged = someFile()
        try member.stage(.upload(of: staged, version: 0, object: "staged", owner: storage))

        #expect(try isReferenced("committed", storage))
        #expect(try isReferenced("staged", storage))
        #expect(try !isReferenced("Committed", storage), "compared exactly")
        #expect(try !isReferenced("other", storage))
        #expect(try !isReferenced("committed", OwningUser(userID: UserID(99), storageType: .google)))
        try member.stage(.deletion(of: file, version: 0))
        try member.commit()
        #expect(try !isReferenced("committed", storage))
        #expect(try isReferenced("staged", storage), "it was committed with the other changes")
    }

    @Test("An object cannot be adopted while a deletion checks it, whichever comes first")
    func decisionAndAdoptionExclude() throws {
        let member = try fixture.addOwner()
        let storage = try #require(try member.owningUser())
        let file = try member.addFile(object: "lost")
        let record = try #require(try member.file(file))

        for round in 0..<30 {
            let object = "object \(round)"
            let outcomes = concurrently(2) { number -> Bool in
                if number == 0 {
                    return try store.transaction { session in
                        try session.adopt(objectID: object, revision: nil, as: record, in: member.area.groupID)
                    }
                }
                _ = try store.transaction { session in
                    try session.addDeletion(of: object, in: storage, availableAt: noon, at: noon)
                }
                return try store.transaction { try !$0.isReferenced(object, of: storage) }
            }
            // Only success of both would lose data.
            #expect(outcomes.failures().map { "\($0)" } == [])
            #expect(outcomes.successes() != [true, true])
        }
    }
}
