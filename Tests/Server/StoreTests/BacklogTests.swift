import SyncProtocol
import Testing

@testable import Store

@Suite("The backlog, for monitoring")
struct BacklogTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner = OwningUser(userID: UserID(1), storageType: .google)

    init() throws { fixture = try StoreFixture() }

    private func backlog(at time: WireDate) throws -> Backlog { try store.withSession { try $0.backlog(at: time) } }

    @Test("An empty database has no backlog")
    func empty() throws {
        #expect(try backlog(at: noon) == Backlog())
    }

    @Test("Work is counted by kind, with the due rows, their age, and the oldest attempted row")
    func outbox() throws {
        try store.transaction { session in
            for (object, time) in [("a", noon(plus: -5)), ("b", noon), ("c", noon(plus: 1))] {
                _ = try session.addDeletion(of: object, in: owner, availableAt: time, at: noon(plus: -60))
            }
            try session.addWarningFile(for: owner, at: noon(plus: 9))
        }

        var expected = Backlog(
            outbox: ["deleteObject": 3, "writeWarningFile": 1], due: 2, firstDue: noon(plus: -5))
        #expect(try backlog(at: noon) == expected)

        _ = try store.transaction { try $0.leaseDue(by: "w", limit: 1, until: noon(plus: 600), at: noon) }
        expected.due = 1
        expected.firstDue = noon
        expected.firstRetried = noon(plus: -60)
        #expect(try backlog(at: noon) == expected)
    }

    @Test("Staged changes are counted, with the age of the oldest")
    func staged() throws {
        let member = try fixture.addOwner()
        for seconds: Int64 in [3, -7, 0] {
            try member.stage(
                .upload(of: someFile(), version: 0, object: "\(seconds)", owner: owner), at: noon(plus: seconds))
        }

        let backlog = try backlog(at: noon)

        #expect(backlog.staged == 3)
        #expect(backlog.firstStaged == noon(plus: -7))
    }
}
