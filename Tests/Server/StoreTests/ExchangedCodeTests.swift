import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Authorization codes: exchanged by one request at a time, and never twice")
struct ExchangedCodeTests {
    private let fixture: StoreFixture
    private let hash = [UInt8](repeating: 1, count: 32)
    private var store: MetadataStore { fixture.store }

    init() throws { fixture = try StoreFixture() }

    private func reserve(
        _ owner: String, of person: String = "alice", _ type: AccountType = .google, seconds: Int = 30,
        at time: WireDate = noon
    ) throws -> CodeReservation {
        try store.transaction { session in
            try session.reserveCode(hash, of: type, person, for: owner, seconds: seconds, at: time)
        }
    }

    private func end(_ owner: String, _ credentials: [UInt8]?) throws -> Bool {
        try store.transaction { try $0.endCodeExchange(hash, by: owner, credentials: credentials) }
    }

    @Test("One request exchanges the code, the others wait for its result")
    func exchanged() throws {
        #expect(try reserve("one") == .reserved)
        #expect(try reserve("two") == .underWay)
        #expect(try !end("two", [4]))
        #expect(try store.withSession { try $0.exchangedCode(hash) } == nil)

        #expect(try end("one", [1, 2, 3]))

        #expect(try reserve("two") == .exchanged([1, 2, 3]))
        #expect(try store.withSession { try $0.exchangedCode(hash) } == [1, 2, 3])
        #expect(try !end("one", nil))
    }

    @Test("Of many concurrent requests exactly one obtains the code")
    func race() async throws {
        let results = try await Threads.run(8) { number in try reserve("\(number)") }

        #expect(results.filter { $0 == .reserved }.count == 1)
        #expect(results.filter { $0 == .underWay }.count == 7)
    }

    @Test("A code that was rejected, or whose result was lost with a process, is not sent again")
    func spent() async throws {
        #expect(try reserve("refused") == .reserved)
        #expect(try end("refused", nil))
        #expect(try reserve("two") == .spent)

        try store.transaction { _ = try $0.forgetExchangedCodes(before: noon(plus: 1), limit: 10) }
        #expect(try reserve("dead", seconds: 1) == .reserved)
        try await eventually("the lease ends", within: .seconds(10)) { try reserve("two") != .underWay }
        #expect(try reserve("two") == .spent)
        // Not dead, only slow: its result is welcome.
        #expect(try end("dead", [7]))
        #expect(try reserve("two") == .exchanged([7]))
    }

    @Test("A code that the provider has not received may be exchanged by the next request")
    func givenBack() throws {
        #expect(try reserve("one") == .reserved)
        try store.transaction { try $0.releaseCode(hash, by: "two") }
        #expect(try reserve("two") == .underWay)

        try store.transaction { try $0.releaseCode(hash, by: "one") }

        #expect(try reserve("two") == .reserved)
    }

    @Test("Old results are removed")
    func forgotten() throws {
        #expect(try reserve("one") == .reserved)
        #expect(try end("one", [1]))

        #expect(try store.transaction { try $0.forgetExchangedCodes(before: noon, limit: 10) } == 0)
        #expect(try store.transaction { try $0.forgetExchangedCodes(before: noon(plus: 1), limit: 10) } == 1)
        #expect(try store.withSession { try $0.exchangedCode(hash) } == nil)
    }

    @Test("Removing a user removes the results of their codes, finished or not, and no others")
    func removedUser() throws {
        func user(_ type: AccountType, _ name: String) throws -> UserID {
            try store.transaction { session in
                try session.addUser(type, name, displayName: "x", cloudFolderName: nil, at: noon)
            }
        }
        let alice = try user(.google, "alice")
        let namesake = try user(.dropbox, "alice")
        #expect(try reserve("one") == .reserved)

        #expect(try store.transaction { try $0.removeUser(namesake, at: noon) })
        #expect(try reserve("two") == .underWay)
        #expect(try end("one", [1]))
        #expect(try store.transaction { try $0.removeUser(alice, at: noon) })

        #expect(try reserve("two") == .spent)
        #expect(try !end("one", [1]))
    }
}
