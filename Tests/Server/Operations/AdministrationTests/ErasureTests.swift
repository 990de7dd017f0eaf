import Operations
import Store
import SyncProtocol
import Testing
import Vault

@Suite("Erasure and export of a user")
struct ErasureTests {
    private let fixture: AdministrationFixture
    init() throws { fixture = try AdministrationFixture() }

    @Test("A preview changes nothing and reports what would be deleted")
    func preview() throws {
        let receipt = try #require(
            try Erasure(store: fixture.store).preview(AdministrationFixture.alice, at: AdministrationFixture.now))

        #expect(!receipt.erased)
        #expect(receipt.rows["files"] == 1)
        #expect(receipt.text.contains("Nothing was changed"))
        #expect(try fixture.number("SELECT COUNT(*) FROM users") == 2)
    }

    @Test("The receipt contains no name, only what was deleted, what remains, and the hash of the account")
    func erase() throws {
        let receipt = try #require(
            try Erasure(store: fixture.store).erase(AdministrationFixture.alice, at: AdministrationFixture.now))

        #expect(receipt.erased)
        #expect(receipt.isGood)
        // The photo, the text that was deleted before, and, for an hour, the data needed to clear her storage.
        #expect(receipt.rowsLeft == ["deletedFiles": 2, "departedUsers": 1, "outbox": 1, "grantsToRevoke": 1])
        #expect(receipt.groups.map(\.rawValue) == [AdministrationFixture.group])
        let json = try receipt.json()
        #expect(!json.contains("Alice"))
        #expect(!json.contains("g-1"))
        #expect(receipt.accountHash.count == 64)
        #expect(try fixture.number("SELECT COUNT(*) FROM users") == 1)
        #expect(try fixture.number("SELECT master_version FROM sharing_groups") == 6)
        // The fixture's clock is ahead of the database's.
        try fixture.run("UPDATE outbox SET available_at = NOW()")
        let findings = try Fsck(store: fixture.store, sealer: fixture.sealer, rowLimit: 5).run()
        #expect(findings == [], "\(findings)")
        #expect(
            try Erasure(store: fixture.store).erase(AdministrationFixture.alice, at: AdministrationFixture.now) == nil)
    }

    @Test("An export contains the user's data, but no tokens and no data of others")
    func export() throws {
        let data = try #require(
            try fixture.store.snapshot { try $0.personalData(of: AdministrationFixture.alice) })
        let json = try PersonalExport(data, at: AdministrationFixture.now).json()

        #expect(json.contains("Alice Example"))
        #expect(json.contains(AdministrationFixture.photo.rawValue))
        #expect(json.contains("Holidays"))
        #expect(!json.contains("secret"))
        #expect(!json.contains("Bob"))
    }
}
