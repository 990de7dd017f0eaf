import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Grants of removed users")
struct RevocationTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }

    init() throws { fixture = try StoreFixture() }

    private func addUser(_ name: String = "alice", credentials: [UInt8]? = [1, 2]) throws -> UserID {
        try store.transaction { session in
            let user = try session.addUser(.google, name, displayName: "x", cloudFolderName: "F", at: noon)
            if let credentials { try session.storeCredentials(credentials, of: user) }
            return user
        }
    }

    private func remove(_ user: UserID, at time: WireDate = noon) throws {
        #expect(try store.transaction { try $0.removeUser(user, at: time) })
    }

    private func pending(_ name: String = "alice", _ type: AccountType = .google) throws -> PendingRevocation {
        try store.withSession { try $0.pendingRevocation(of: type, name) }
    }

    private func cancel(keeping isGrantKept: Bool, _ name: String = "alice") throws -> Bool {
        try store.transaction { try $0.cancelRevocations(of: .google, name, isGrantKept: isGrantKept) }
    }

    private func lease(at time: WireDate = noon(plus: 3_600)) throws -> [OutboxItem] {
        try store.transaction { try $0.leaseDue(by: "w", limit: 10, until: noon(plus: 9_000), at: time) }
    }

    private func begin(_ item: OutboxItem, by worker: String = "w", seconds: Int = 30) throws -> Bool {
        try store.transaction { try $0.beginRevocation(item.id, by: worker, seconds: seconds) }
    }

    @Test("Only a removed user's sealed tokens are passed to the jobs role")
    func removal() throws {
        let owner = OwningUser(userID: try addUser(), storageType: .google)
        try store.transaction { session in
            try session.addWarningFile(for: owner, at: noon)
        }

        try remove(owner.userID, at: noon(plus: 5))

        #expect(try lease(at: noon(plus: 3_604)).isEmpty)
        let work = try lease(at: noon(plus: 3_605))
        #expect(work.map(\.kind) == [.revokeGrant])
        #expect(work.first?.userID == owner.userID && work.first?.owner == nil)
        #expect(
            work.first?.grant
                == AbandonedGrant(accountType: .google, record: [1, 2], abandonedAt: noon(plus: 5)))
    }

    @Test("Without a grant there is no work")
    func nothingGranted() throws {
        try remove(addUser(credentials: nil))

        #expect(try lease().isEmpty)
        #expect(try pending() == .none)
    }

    @Test("An account that returns in time keeps its grant; others are not affected")
    func comesBack() throws {
        let alice = try addUser()
        let bob = try addUser("bob")
        try remove(alice)
        try remove(bob)
        let work = try lease()
        #expect(try pending() == .waiting([1, 2], alice))
        #expect(try pending("alice", .dropbox) == .none)
        #expect(try pending("carol") == .none)

        #expect(try cancel(keeping: true))

        #expect(try pending() == .none)
        #expect(try pending("bob") == .waiting([1, 2], bob))
        let (alices, bobs) = (try #require(work.first), try #require(work.last))
        #expect(try !begin(alices))
        #expect(try begin(bobs))
    }

    @Test("While a revocation is in progress the grant cannot be kept; after a failure it can")
    func beingAsked() throws {
        let alice = try addUser()
        try remove(alice)
        let item = try #require(try lease().first)
        #expect(try !begin(item, by: "somebody else"))
        #expect(try begin(item))

        #expect(try pending() == .underWay)
        #expect(try !cancel(keeping: true))
        #expect(try !cancel(keeping: false))
        try store.transaction { session in
            _ = try session.postpone(item, by: "w", until: noon(plus: 60), error: "unavailable", at: noon)
        }
        #expect(try pending() == .waiting([1, 2], alice))

        #expect(try #require(try lease(at: noon(plus: 60)).first).attempts == 1)
        #expect(try begin(item))
        #expect(try store.transaction { try $0.complete(item.id, by: "w") })
        // Users who wanted to keep the grant learn that it is gone; for others this makes no difference.
        #expect(try !cancel(keeping: true))
        #expect(try cancel(keeping: false))
    }

    @Test("A worker that dies during the call delays a returning account, but not indefinitely")
    func deadWorker() async throws {
        let alice = try addUser()
        try remove(alice)
        #expect(try begin(#require(try lease().first), seconds: 1))
        #expect(try pending() == .underWay)

        try await eventually("the announced time is over", within: .seconds(10)) {
            try pending() == .waiting([1, 2], alice)
        }
    }
}
