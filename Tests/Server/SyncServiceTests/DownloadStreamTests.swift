import HTTPTransport
import Logging
import Providers
import SyncProtocol
import Testing
import Vault

@testable import Store
@testable import SyncService

@Suite("Downloads from a provider that sends byte by byte, or other bytes")
struct DownloadStreamTests {
    private final class Clock {
        var now = ContinuousClock.now
    }

    private let server: TestServer
    private let clock = Clock()

    private let userID: UserID

    init() throws {
        server = try TestServer()
        userID = try server.userID(of: try server.signUp())
    }

    /// A download that has begun, of content with this length.
    private func stream(
        of bytes: [UInt8], in storageType: CloudStorageType = .google, revision: String? = nil, isRead: Bool = false
    ) throws -> (DownloadStream, FakeConnection) {
        let user = try #require(try server.store.withSession { try $0.user(userID) })
        let connection = FakeConnection()
        let context = server.context(connection)
        let checkSum = try #require(CheckSum(md5(bytes)))
        let file = FileRecord(
            fileUUID: someFile(), owningUser: OwningUser(userID: userID, storageType: storageType),
            deviceUUID: try #require(DeviceUUID("DDDDDDDD-0000-4000-8000-000000000001")), createdAt: noon,
            updatedAt: noon,
            mimeType: try #require(MIMEType("image/jpeg")), isDeleted: false, fileVersion: FileVersion(0),
            checkSum: checkSum, sizeBytes: Int64(bytes.count), objectRevision: isRead ? "another" : revision)
        let object = StoredObject(
            objectID: "o", name: "o", sizeBytes: Int64(bytes.count), providerHash: revision == nil ? md5(bytes) : nil,
            revision: revision)
        let storage = try server.services.storage.storage(
            of: user, transport: .unused, deadline: .after(.seconds(20)), logger: context.logger)
        let contents = try PresentContents.determine(of: object, as: file, storage, context)
        let stream = DownloadStream(
            nil, of: file, object: object, contents: contents, storage: storage, context: context,
            now: { clock.now })
        stream.begin(nil)
        return (stream, connection)
    }

    private func receive(_ bytes: some Collection<UInt8>, _ stream: DownloadStream) -> Bool {
        stream.receive(Array(bytes).span)
    }

    @Test("A small file, which is passed on only once it is complete, may take a minute, and then fails")
    func small() throws {
        let (stream, connection) = try stream(of: someBytes(100))
        for byte in someBytes(100).prefix(60) {
            clock.now += .seconds(1)
            #expect(receive([byte], stream))
        }
        clock.now += .seconds(1)

        #expect(!receive([someBytes(100)[60]], stream))

        #expect {
            _ = try stream.end()
        } throws: { error in
            if case CloudStorageError.timedOut = error { true } else { false }
        }
        #expect(connection.starts == 0)
    }

    @Test("The end of a large file may take a minute after the last bytes passed on; then the reply is cut off")
    func large() throws {
        let bytes = someBytes(70_000)
        let (stream, connection) = try stream(of: bytes)
        // All but 64 KiB is passed on, and may arrive at any speed.
        for position in [0, 2_000] {
            clock.now += .seconds(90)
            #expect(receive(bytes[position..<position + 2_000], stream))
        }
        #expect(receive(bytes[4_000..<4_500], stream))
        clock.now += .seconds(60)
        #expect(receive(bytes[4_500..<4_501], stream))
        clock.now += .seconds(1)

        #expect(!receive(bytes[4_501..<4_502], stream))

        #expect(throws: ReplyInterrupted.self) { try stream.end() }
        #expect(connection.starts == 1)
    }

    @Test("A hash known only from an earlier reading is discarded if other bytes arrive")
    func doubted() throws {
        let owner = OwningUser(userID: userID, storageType: .webDAV)
        try remember(someBytes(100), in: owner)
        let (stream, _) = try stream(of: someBytes(100), in: .webDAV, revision: "r", isRead: true)

        #expect(receive(someBytes(99) + [7], stream))
        #expect {
            _ = try stream.end()
        } throws: { error in
            if case CloudStorageError.contentMismatch = error { true } else { false }
        }

        #expect(try server.store.withSession { try $0.knownContent(of: "o", in: owner) }?.providerHash == "")
    }

    /// Records the result of reading an object of 100 bytes and revision `r`.
    private func remember(_ bytes: [UInt8], in owner: OwningUser) throws {
        let object = StoredObject(objectID: "o", name: "o", sizeBytes: 100, providerHash: nil, revision: "r")
        let known = KnownContent(
            providerHash: try #require(object.contentMark), checkSum: try #require(CheckSum(md5(bytes))))
        try server.store.transaction { try $0.remember(known, of: "o", in: owner, at: noon) }
    }

    @Test("Different bytes with the same size and revision count as the contents once they have been read twice")
    func behindTheSameRevision() throws {
        let owner = OwningUser(userID: userID, storageType: .webDAV)
        for other in [someBytes(99) + [7], someBytes(99) + [8], someBytes(99) + [8]] {
            let (stream, _) = try stream(of: someBytes(100), in: .webDAV, revision: "r")

            #expect(receive(other, stream))
            #expect(throws: CloudStorageError.self) { _ = try stream.end() }

            let known = try server.store.withSession { try $0.knownContent(of: "o", in: owner) }
            #expect(known?.checkSum.rawValue == md5(other))
        }
        // A reading that ends early has no result.
        let (stream, _) = try stream(of: someBytes(100), in: .webDAV, revision: "r")
        #expect(receive(someBytes(99), stream))
        #expect(throws: CloudStorageError.self) { _ = try stream.end() }
        #expect(
            try server.store.withSession { try $0.knownContent(of: "o", in: owner) }?.checkSum.rawValue
                != md5(someBytes(99)))
    }
}
