import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@testable import SyncService

/// The server reads an object if the provider does not report the values that clients compare.
@Suite("Reading an object to hash its contents")
struct ContentReadingTests {
    private let server: TestServer
    private let storage: UserStorage
    private let bytes = someBytes(25_000)

    init() throws {
        server = try TestServer()
        let userID = try server.userID(of: try server.signUp())
        let user = try #require(try server.store.withSession { try $0.user(userID) })
        storage = try server.services.storage.storage(
            of: user, transport: .unused, deadline: .after(.seconds(20)),
            logger: Logger(label: "test", factory: { [log = server.log] _ in log }))
        server.cloud.put("o", "name", bytes)
    }

    @Test("Contents are distinguished from later ones by their hash, or otherwise by revision and size")
    func marks() {
        var object = StoredObject(objectID: "o", name: "name", sizeBytes: 5, providerHash: nil, revision: "r")
        let mark = object.contentMark
        #expect(mark?.utf8.count == 64)
        object.sizeBytes = 6
        #expect(object.contentMark != mark)
        object.revision = nil
        #expect(object.contentMark == nil)
        object.providerHash = "h"
        #expect(object.contentMark == "h")
    }

    private func read(sizeBytes: Int, hash: String?, revision: String? = nil) throws(CloudStorageError) -> CheckSum {
        let object = StoredObject(
            objectID: "o", name: "name", sizeBytes: Int64(sizeBytes), providerHash: hash, revision: revision)
        return try ContentReading.contents(of: object, in: storage) { true }.checkSum
    }

    @Test("The result is used if it matches the provider's report", arguments: [true, false])
    func same(isHashKnown: Bool) throws {
        #expect(try read(sizeBytes: bytes.count, hash: isHashKnown ? md5(bytes) : nil) == CheckSum(md5(bytes)))
    }

    @Test("A different size in the description does not matter if the provider sends as many bytes as it announces")
    func countedDifferently() throws {
        var behaviour = FakeCloud.Behaviour()
        behaviour.announcesLength = true
        server.cloud.behaviour = behaviour

        for size in [bytes.count - 1, bytes.count + 1] {
            #expect(try read(sizeBytes: size, hash: md5(bytes)) == CheckSum(md5(bytes)))
        }
    }

    @Test("Without a hash the size must match the provider's, since the announced bytes may be those of an error page")
    func page() {
        var behaviour = FakeCloud.Behaviour()
        behaviour.announcesLength = true
        server.cloud.behaviour = behaviour

        for size in [bytes.count - 1, bytes.count + 1] {
            #expect {
                _ = try read(sizeBytes: size, hash: nil, revision: "r")
            } throws: { error in
                if case CloudStorageError.contentMismatch = error { true } else { false }
            }
        }
    }

    @Test("Reading stops at the first excess byte, even if the provider announces the length")
    func bounds() throws {
        server.cloud.put("o", "name", someBytes(1_000_000))
        var calls = 0
        let object = StoredObject(objectID: "o", name: "name", sizeBytes: 15_000, providerHash: nil, revision: "r")
        #expect {
            _ = try ContentReading.contents(of: object, in: storage) {
                calls += 1
                return true
            }
        } throws: { error in
            if case CloudStorageError.contentMismatch = error { true } else { false }
        }
        #expect(calls == 1)

        server.cloud.behaviour.announcesLength = true
        #expect(throws: (any Error).self) { try read(sizeBytes: 15_000, hash: nil, revision: "r") }
    }

    @Test(
        "One object per owner is read at a time, up to the number of slots; objects at large companies do not count"
    )
    func slots() throws {
        let slots = ReadingSlots(2)
        func run(_ owners: [(Int64, CloudStorageType)]) throws -> Int {
            guard let (owner, type) = owners.first else { return 0 }
            return try slots.run(for: OwningUser(userID: UserID(owner), storageType: type)) {
                () throws(CloudStorageError) in 1 + ((try? run(Array(owners.dropFirst()))) ?? 0)
            }
        }

        #expect(try run([(1, .s3), (2, .webDAV), (3, .s3)]) == 2)
        #expect(try run([(1, .s3), (1, .s3), (2, .s3)]) == 1)
        #expect(try run([(1, .microsoft), (1, .microsoft), (2, .s3), (3, .s3), (4, .s3)]) == 4)
    }

    @Test("A different length or hash yields no result, because the object was changed meanwhile")
    func other() {
        let attempts: [(Int, String?)] = [
            (bytes.count + 1, nil), (bytes.count - 1, nil), (bytes.count, md5([1])), (bytes.count + 1, md5(bytes)),
        ]
        for (size, hash) in attempts {
            do {
                _ = try read(sizeBytes: size, hash: hash)
                Issue.record("\(size) bytes with \(hash ?? "no hash") are accepted as the object's")
            } catch {
                guard case .contentMismatch = error else {
                    Issue.record("\(error)")
                    continue
                }
            }
        }
    }
}
