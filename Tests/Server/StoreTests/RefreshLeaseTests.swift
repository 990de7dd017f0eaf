import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Leases for refreshing tokens, and Apple's notifications")
struct RefreshLeaseTests {
    private let fixture: StoreFixture
    private let alice: UserID
    private var store: MetadataStore { fixture.store }

    init() throws {
        fixture = try StoreFixture()
        alice = try fixture.addUser()
    }

    private func take(_ owner: String, _ user: UserID? = nil, seconds: Int = 30) throws -> Bool {
        try store.transaction { try $0.takeRefreshLease(of: user ?? alice, for: owner, seconds: seconds) }
    }

    @Test("One holder has the lease, separately for each user, until it releases it")
    func exclusive() throws {
        let bob = try fixture.addUser()

        #expect(try take("one"))
        #expect(try !take("two"))
        #expect(try !take("one"))
        #expect(try take("two", bob))
        try store.transaction { try $0.endRefreshLease(of: alice, for: "two") }
        #expect(try !take("two"))
        try store.transaction { try $0.endRefreshLease(of: alice, for: "one") }
        #expect(try take("two"))
        #expect(try !take("one", UserID(4_711)))
    }

    @Test("Exactly one of many concurrent requests obtains the lease")
    func race() async throws {
        for _ in 0..<5 {
            let bob = try fixture.addUser()
            let (store) = store
            let taken = try await Threads.run(8) { number in
                try store.transaction { try $0.takeRefreshLease(of: bob, for: "\(number)", seconds: 30) }
            }
            #expect(taken.filter(\.self).count == 1)
        }
    }

    @Test("The lease of a dead holder expires")
    func expiry() async throws {
        #expect(try take("dead", seconds: 1))
        #expect(try !take("next"))

        try await eventually("the lease has ended", within: .seconds(10)) { try take("next") }

        // The dead holder returns, and must not end another holder's lease.
        try store.transaction { try $0.endRefreshLease(of: alice, for: "dead") }
        #expect(try !take("third"))
    }

    @Test("A notification is new once, and its id is eventually deleted")
    func notices() throws {
        let hash = [UInt8](repeating: 7, count: 32)
        #expect(try store.transaction { try $0.noteAppleNotice(hash, at: noon) })
        #expect(try !store.transaction { try $0.noteAppleNotice(hash, at: noon(plus: 5)) })

        #expect(try store.transaction { try $0.forgetAppleNotices(before: noon, limit: 10) } == 0)
        #expect(try store.transaction { try $0.forgetAppleNotices(before: noon(plus: 1), limit: 10) } == 1)
        #expect(try store.transaction { try $0.noteAppleNotice(hash, at: noon) })
    }
}
