import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Known hashes of objects")
struct ContentHashTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner = OwningUser(userID: UserID(1), storageType: .microsoft)
    private let sha1 = CheckSum("0A4D55A8D778E5022FAB701977C5D840BBC486D0")!

    init() throws { fixture = try StoreFixture() }

    @Test("A hash is valid until it is replaced, only for that object of that owner")
    func remembered() throws {
        let first = KnownContent(providerHash: "quick1=", checkSum: sha1)
        let second = KnownContent(
            providerHash: "quick2=", checkSum: CheckSum("A9993E364706816ABA3E25717850C26C9CD0D89D")!)
        for content in [first, first, second] {
            try store.transaction { try $0.remember(content, of: "D!1", in: owner, at: noon) }
            #expect(try store.withSession { try $0.knownContent(of: "D!1", in: owner) } == content)
        }
        let other = OwningUser(userID: UserID(2), storageType: .microsoft)
        #expect(try store.withSession { try $0.knownContent(of: "D!1", in: other) } == nil)
        #expect(try store.withSession { try $0.knownContent(of: "d!1", in: owner) } == nil)
        #expect(try store.transaction { try $0.forgetContents(before: noon, limit: 9) } == 0)
        #expect(try store.transaction { try $0.forgetContents(before: noon(plus: 1), limit: 9) } == 1)
        #expect(try store.withSession { try $0.knownContent(of: "D!1", in: owner) } == nil)
    }

    @Test("An object is hashed once, however often that is requested, and the hashing does not delete it")
    func hashing() throws {
        for _ in 0..<3 {
            try store.transaction { session in
                try session.addHashing(of: "D!1", in: owner, availableAt: noon(plus: 30), at: noon)
            }
        }
        #expect(try store.transaction { try !$0.isDoomed("D!1", of: owner) })
        #expect(try store.transaction { try $0.leaseDue(by: "w", limit: 9, until: noon(plus: 99), at: noon) } == [])
        let items = try store.transaction { session in
            try session.leaseDue(by: "w", limit: 9, until: noon(plus: 99), at: noon(plus: 30))
        }
        #expect(items.map(\.kind) == [.hashObject] && items.map(\.objectID) == ["D!1"])
        #expect(items.map(\.owner) == [owner])
    }
}
