import HTTPTransport
import Providers
import TestSupport
import Testing

/// A number of bytes, and the number delivered at a time.
struct ContentShape: Sendable, CustomTestStringConvertible {
    let bytes: Int
    let partBytes: Int
    var testDescription: String { "\(bytes) bytes in parts of \(partBytes)" }

    static let border = [0, 1, 262_143, 262_144, 262_145, 1_048_575, 1_048_576, 1_048_577]
        .flatMap { size in [262_144, 2_097_152].map { ContentShape(bytes: size, partBytes: $0) } }
    static let large = [
        ContentShape(bytes: 5 << 20, partBytes: 1 << 18), ContentShape(bytes: 5 << 20, partBytes: 8 << 20),
        ContentShape(bytes: (20 << 20) + 1, partBytes: 5 << 20),
    ]
    /// The phone's parts determine the requests in the same way for all servers of a protocol.
    static let ofProtocol = [
        ContentShape(bytes: 20 << 20, partBytes: 1 << 20), ContentShape(bytes: 20 << 20, partBytes: 8 << 20),
    ]
    static let all =
        ProviderUnderTest.all.flatMap { kind in (border + large).map { (kind, $0) } }
        + ProviderUnderTest.oneOfEachProtocol.flatMap { kind in ofProtocol.map { (kind, $0) } }
}

extension CloudProviderTests {
    @Suite("CloudProviderContract: round trips")
    struct RoundTripTests {
        @Test("The whole folder is listed, and nothing outside it", arguments: ProviderUnderTest.all)
        func list(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let list = {
                var found: [StoredObject] = []
                try storage.provider.list(in: storage.access()) { found += $0 }
                return found.sorted { $0.name < $1.name }
            }
            #expect(try list().isEmpty)
            let stored = try (10..<15).map { try storage.store(RandomData.bytes(100), as: "file \($0).bin") }

            #expect(try list().map(\.undated) == stored.map(\.undated))

            try storage.provider.delete(objectID: stored[2].objectID, in: storage.access())
            #expect(try list().map(\.name) == stored.map(\.name).filter { $0 != "file 12.bin" })
        }

        @Test("Requests are named after their purpose", arguments: ProviderUnderTest.all, [1, 9 << 20])
        func names(kind: ProviderUnderTest, bytes: Int) throws {
            let storage = try ContractAccount(kind).open()
            let content = PartedContent(RandomData.bytes(bytes), for: kind, partBytes: 1 << 20)
            // The folder exists after the first upload.
            try storage.store([1], as: "first.bin")
            var stored: StoredObject?

            let uploading = try storage.operations { stored = try storage.store(content) }
            let id = try #require(stored?.objectID)

            #expect(uploading.filter { $0 != .metadata } == [.upload])
            #expect(
                try storage.operations { _ = try storage.provider.describe(objectID: id, in: storage.access()) }
                    == [.metadata])
            #expect(try storage.operations { _ = try storage.read(id) } == [.download])
            #expect(
                try storage.operations { try storage.provider.delete(objectID: id, in: storage.access()) }
                    == (kind.deleteCalls == 1 ? [.delete] : [.delete, .metadata]))
        }

        @Test(
            "An object of any size is stored, described, found, read and deleted [342] [343] [344] [345] [F45]",
            arguments: ContentShape.all)
        func roundTrip(kind: ProviderUnderTest, shape: ContentShape) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(shape.bytes)
            let content = PartedContent(bytes, for: kind, partBytes: shape.partBytes)

            let reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())
            let stored = try storage.provider.upload(
                content, as: reservation, mimeType: "image/jpeg", to: storage.access())

            #expect(reservation.objectID == nil || reservation.objectID == stored.objectID)
            #expect(stored.name == "photo.jpg" && stored.sizeBytes == shape.bytes)
            #expect(stored.providerHash == (kind.reportsHash ? content.providerHash : nil))
            #expect(
                try storage.provider.describe(objectID: stored.objectID, in: storage.access()).undated == stored.undated
            )
            #expect(try storage.provider.find(name: "photo.jpg", in: storage.access())?.undated == stored.undated)
            #expect(try storage.read(stored.objectID) == bytes)
            #expect(try account.files().map(\.folder) == [kind.folderName])
            #expect(try account.contents(of: "photo.jpg") == bytes)

            try storage.provider.delete(objectID: stored.objectID, in: storage.access())

            #expect(try account.files().isEmpty)
            #expect(throws: CloudStorageError.notFound) { try storage.describe(stored.objectID) }
            #expect(try storage.provider.find(name: "photo.jpg", in: storage.access()) == nil)
        }

        @Test(
            "Content whose parts do not fit in memory is stored nevertheless, and once",
            arguments: ProviderUnderTest.all, [100, 6_000_000])
        func noMemory(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(size)
            let reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())

            let stored = try (0..<2).map { _ in
                try storage.provider.upload(
                    PartedContent(bytes, for: kind, hasMemory: false), as: reservation, mimeType: "image/jpeg",
                    to: storage.access())
            }

            #expect(stored[0].undated == stored[1].undated)
            #expect(try account.files().count == 1)
            #expect(try account.contents(of: stored[0].name) == bytes)
        }

        @Test(
            "An object that never existed is not found, and counts as deleted [343] [345]",
            arguments: ProviderUnderTest.all)
        func missing(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let reserved = try storage.provider.reserve(name: "file.bin", in: storage.access())
            // If identifiers are assigned only afterwards, one in their form that was never assigned.
            let objectID = try #require(reserved.objectID ?? kind.absentObjectID)

            #expect(throws: CloudStorageError.notFound) { try storage.describe(objectID) }
            #expect(throws: CloudStorageError.notFound) { _ = try storage.read(objectID) }
            #expect(try storage.provider.find(name: "file.bin", in: storage.access()) == nil)
            try storage.provider.delete(objectID: objectID, in: storage.access())
        }

        @Test("Deletion is idempotent", arguments: ProviderUnderTest.all)
        func deleteTwice(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let stored = try storage.store(RandomData.bytes(100))

            try storage.provider.delete(objectID: stored.objectID, in: storage.access())
            try storage.provider.delete(objectID: stored.objectID, in: storage.access())

            #expect(try account.files().isEmpty)
        }

        @Test(
            "A repeated upload under one reservation creates one object", arguments: ProviderUnderTest.all,
            [100, 700_000, 3_000_000])
        func repeatedUpload(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(size)
            let reservation = try storage.provider.reserve(name: "file.bin", in: storage.access())

            let stored = try (0..<3).map { _ in
                try storage.provider.upload(
                    PartedContent(bytes, for: kind), as: reservation, mimeType: "text/plain", to: storage.access())
            }

            #expect(stored[0].undated == stored[1].undated && stored[1].undated == stored[2].undated)
            #expect(try account.files().map(\.size) == [size])
        }

        @Test(
            "A repeated upload with other bytes is a mismatch and changes nothing",
            arguments: ProviderUnderTest.allThatRepeatNames, [100, 700_000])
        func repeatedUploadOfOtherBytes(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(size)
            let reservation = try storage.provider.reserve(name: "file.bin", in: storage.access())
            let stored = try storage.provider.upload(
                PartedContent(bytes, for: kind), as: reservation, mimeType: "text/plain", to: storage.access())

            #expect(throws: CloudStorageError.contentMismatch) {
                _ = try storage.provider.upload(
                    PartedContent(RandomData.bytes(size), for: kind), as: reservation, mimeType: "text/plain",
                    to: storage.access())
            }

            #expect(try storage.read(stored.objectID) == bytes)
        }

        @Test(
            "Where names are unique, an existing object with the same contents is adopted [132] [350]",
            arguments: ProviderUnderTest.allWithUniqueNames, [0, 100, 700_000])
        func equalContents(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(size)
            try account.store(bytes, as: "file.bin")

            let stored = try storage.store(bytes)

            #expect(stored.name == "file.bin")
            #expect(try account.files().map(\.name) == ["file.bin"])
        }

        @Test(
            "Where names are unique, other contents keep the name, and the new object gets its spare name [350]",
            arguments: ProviderUnderTest.allWithUniqueNames, [100, 700_000])
        func otherContents(kind: ProviderUnderTest, size: Int) throws {
            // A small file takes one request, and a server that ignores its condition overwrites.
            guard kind.honoursConditions else { return }
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let (first, second) = (RandomData.bytes(size), RandomData.bytes(size))
            let old = try storage.store(first, as: "photo.jpg")
            let reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())

            let new = try storage.provider.upload(
                PartedContent(second, for: kind), as: reservation, mimeType: "image/jpeg", to: storage.access())

            #expect(new.objectID != old.objectID)
            #expect(new.name == reservation.spareName && new.name.hasSuffix(".jpg"))
            #expect(try storage.read(old.objectID) == first)
            #expect(try storage.read(new.objectID) == second)
            // A third upload under the same reservation finds both names taken.
            #expect(throws: CloudStorageError.contentMismatch) {
                _ = try storage.provider.upload(
                    PartedContent(RandomData.bytes(size), for: kind), as: reservation, mimeType: "image/jpeg",
                    to: storage.access())
            }
            #expect(try account.files().count == 2)
        }

        @Test(
            "Of several objects with the same name, the same one is always found [339]",
            arguments: ProviderUnderTest.allThatRepeatNames)
        func equalNames(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let objects = [
                try storage.store(RandomData.bytes(10), as: "same.txt"),
                try storage.store(RandomData.bytes(20), as: "same.txt"),
            ]

            #expect(objects[0].objectID != objects[1].objectID)
            let found = try #require(try storage.provider.find(name: "same.txt", in: storage.access()))
            #expect(objects.contains(found))
            #expect(try storage.provider.find(name: "same.txt", in: storage.access()) == found)
            try storage.provider.delete(objectID: found.objectID, in: storage.access())
            #expect(try storage.provider.find(name: "same.txt", in: storage.access()) == objects.first { $0 != found })
        }

        @Test(
            "Any name is stored unchanged and found", arguments: ProviderUnderTest.all,
            [
                "it's.txt", #"back\slash.txt"#, #"\' or name contains '"#, "'\u{301}accent on a quote",
                "\"quoted\".json",
                "ünï 😀.txt", "a & b = c + d % e?.txt", "' or trashed = true or name = '",
            ])
        func names(kind: ProviderUnderTest, name: String) throws {
            let name = String(name.filter { !kind.forbiddenCharacters.contains($0) })
            let account = try ContractAccount(kind, folder: "Folder of \(name)")
            let storage = try account.open()
            let stored = try storage.store(RandomData.bytes(10), as: name)
            try storage.store(RandomData.bytes(11), as: "another")

            #expect(stored.name == name)
            #expect(try storage.provider.find(name: name, in: storage.access())?.undated == stored.undated)
            guard kind.hasFolders else { return }
            // Another process that does not know the folder yet finds it by its name.
            let folder = try #require(account.folder.folderID)
            #expect(account.folder.replace(folder, by: "gone") == "gone")
            account.folder.markDoubtful()
            #expect(try storage.provider.reserve(name: name, in: storage.access()).folderID == folder)
        }

        @Test("The receiver can end a download", arguments: ProviderUnderTest.all)
        func cancelledDownload(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let stored = try storage.store(RandomData.bytes(3_000_000))

            var received = 0
            #expect(throws: CloudStorageError.downloadCancelled) {
                try storage.provider.download(objectID: stored.objectID, from: storage.access()) { bytes in
                    received += bytes.count
                    return received < 100_000
                }
            }

            #expect(received < 1_000_000)
        }

        @Test(
            "Storing small files needs few calls, reading them two, and deleting them one [F25]",
            arguments: ProviderUnderTest.all)
        func callCounts(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            try storage.store(RandomData.bytes(100), as: "first.txt")
            var stored: StoredObject?
            let fresh = try account.open()

            #expect(try account.calls { stored = try fresh.store(RandomData.bytes(262_144)) } <= kind.storeCalls.first)
            let later = try account.calls { try fresh.store(RandomData.bytes(1_000), as: "next.txt") }
            #expect(later == kind.storeCalls.later)
            let objectID = try #require(stored?.objectID)
            let reading = try account.calls {
                try storage.describe(objectID)
                _ = try storage.read(objectID)
            }
            #expect(reading == 2)
            let deleting = try account.calls {
                try storage.provider.delete(objectID: objectID, in: storage.access())
            }
            #expect(deleting == kind.deleteCalls)
        }
    }
}

extension ContractStorage {
    @discardableResult
    func describe(_ objectID: String, within time: Duration = .seconds(40)) throws -> StoredObject {
        try provider.describe(objectID: objectID, in: access(within: time))
    }
}
