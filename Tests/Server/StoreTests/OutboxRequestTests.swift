import Foundation
import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Request ids of outbox work")
struct OutboxRequestTests {
    private let fixture: StoreFixture
    private let owner = OwningUser(userID: UserID(1), storageType: .google)

    init() throws { fixture = try StoreFixture() }

    private func lease() throws -> [OutboxItem] {
        try fixture.store.transaction { try $0.leaseDue(by: "w", limit: 100, until: noon(plus: 60), at: noon) }
    }

    @Test("Work has the id of its request, and so does resulting work; other work has none")
    func inherited() throws {
        let (alice, bob) = (try fixture.addOwner(), try fixture.addUser())
        let groupID = alice.area.groupID
        let serving = fixture.store.serving("the request")
        try serving.transaction { session in
            try session.addMember(
                bob, to: groupID, permission: .read, owningUserID: alice.user, invitation: nil, at: noon)
            try session.register(
                PushRegistration(kind: .apns, token: "t"), of: bob, on: alice.area.deviceUUID, at: noon)
            try session.addPush("Hi", from: alice.user, to: groupID, at: noon)
        }
        try fixture.store.transaction { try $0.addWarningFile(for: owner, at: noon) }

        let items = try lease()
        #expect(items.map(\.kind) == [.sendPush, .writeWarningFile])
        #expect(items.map(\.requestID) == ["the request", nil])

        let order = try #require(items[0].push)
        #expect(try fixture.store.transaction { try $0.fanOut(items[0], order, by: "w", at: noon) } == 1)
        #expect(try lease().map(\.requestID) == ["the request"])
    }

    @Test("After a departure all clean-up work has the id of the request")
    func departure() throws {
        let alice = try fixture.addOwner()
        try alice.addFile()
        try alice.stage(
            .upload(of: someFile(), version: 0, object: "staged", owner: try #require(try alice.owningUser())))
        try fixture.store.transaction { session in
            try session.storePushTopic("arn:t", of: alice.user)
            try session.storeCredentials([1], of: alice.user)
        }

        _ = try fixture.store.serving("the request").transaction { try $0.removeUser(alice.user, at: noon) }

        #expect(try fixture.count("SELECT COUNT(DISTINCT kind) FROM outbox") == 3)
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox WHERE request_id IS NULL") == 0)
    }

    @Test("An id not in nginx's form is not stored, and does not fail the request", arguments: ["", "é", "a\u{7}"])
    func unusable(id: String) throws {
        let longest = String(repeating: "x", count: MetadataStore.maximumRequestIDLength)
        for id in [id, longest + "x", longest] {
            try fixture.store.serving(id).transaction { try $0.addWarningFile(for: owner, at: noon) }
        }

        #expect(try lease().map(\.requestID) == [nil, nil, longest])
    }

    @Test("Every statement that adds work includes the request id")
    func everyStatement() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Sources/Server/Store")
        let files = try #require(
            FileManager.default.enumerator(at: sources.standardized, includingPropertiesForKeys: nil))
        let row = try fixture.store.withSession {
            $0.row(for: .hashObject(objectID: "o"), of: owner, availableAt: noon, at: noon)
        }
        let composed: SQL = "\(row.columns)"
        var statements = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: /INSERT INTO outbox\s*\(([^)]*)\)/) {
                statements += 1
                let columns = match.1 == #"\(row.columns"# ? composed.description : String(match.1)
                #expect(columns.contains("request_id"), "\(file.lastPathComponent): \(columns)")
            }
        }
        #expect(statements >= 10)
    }
}
