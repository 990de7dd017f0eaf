import Providers
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: changes by the owner")
    struct OwnerTests {
        @Test(
            "An object that was renamed, moved or put into the bin is still found",
            arguments: ProviderUnderTest.allWithIdentifiers)
        func stillThere(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(1_000)
            let id = try storage.store(bytes).objectID

            try kind.owner.rename(id, to: "My holiday.jpg", in: storage)
            #expect(try storage.describe(id).name == "My holiday.jpg")
            #expect(try storage.read(id) == bytes)
            #expect(try storage.provider.find(name: "file.bin", in: storage.access()) == nil)

            try kind.owner.moveAway(id, from: account.folder.folderID, in: storage)
            #expect(try storage.describe(id).sizeBytes == 1_000)
            #expect(try storage.read(id) == bytes)
            #expect(try storage.provider.find(name: "My holiday.jpg", in: storage.access()) == nil)

            if kind.hasReadableBin {
                try kind.owner.trash(id, in: storage)
                #expect(try storage.describe(id).sizeBytes == 1_000)
                #expect(try storage.read(id) == bytes)
            }

            try storage.provider.delete(objectID: id, in: storage.access())
            #expect(throws: CloudStorageError.notFound) { try storage.describe(id) }
        }

        @Test("An object that its owner deleted is not found, and counts as deleted", arguments: ProviderUnderTest.all)
        func deleted(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let id = try storage.store(RandomData.bytes(1_000)).objectID
            try account.delete("file.bin")

            #expect(throws: CloudStorageError.notFound) { try storage.describe(id) }
            #expect(throws: CloudStorageError.notFound) { _ = try storage.read(id) }
            try storage.provider.delete(objectID: id, in: storage.access())
        }

        @Test("Contents that the owner changed have another hash and revision", arguments: ProviderUnderTest.all)
        func changed(kind: ProviderUnderTest) async throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let stored = try storage.store(RandomData.bytes(1_000))
            let bytes = RandomData.bytes(2_000)
            try account.store(bytes, as: "file.bin")
            // rclone's server reports the new entity tag at once, and the new size a moment later.
            try await eventually("the new size is described") {
                try storage.describe(stored.objectID).sizeBytes == 2_000
            }

            let now = try storage.describe(stored.objectID)

            #expect(!kind.reportsHash || now.providerHash != stored.providerHash)
            #expect(now.revision != stored.revision)
            #expect(try storage.read(stored.objectID) == bytes)
        }

        @Test(
            "A folder that its owner deleted or put into the bin is created again [338] [341]",
            arguments: ProviderUnderTest.allWithFolders, [true, false])
        func lostFolder(kind: ProviderUnderTest, isDeleted: Bool) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            try storage.store(RandomData.bytes(100), as: "old.bin")
            let old = try #require(account.folder.folderID)
            if isDeleted {
                try kind.owner.delete(old, in: storage)
            } else {
                try kind.owner.trash(old, in: storage)
            }
            account.folder.markDoubtful()

            let stored = try storage.store(RandomData.bytes(100), as: "new.bin")

            let new = try #require(account.folder.folderID)
            #expect(new != old)
            #expect(try kind.owner.folders("Sync Tests", in: storage) == [new])
            #expect(try storage.provider.find(name: "new.bin", in: storage.access())?.undated == stored.undated)
        }

        @Test(
            "An upload into a missing folder fails, and the next one creates the folder again",
            arguments: ProviderUnderTest.allWithFolders, [100, 700_000])
        func folderGoneUnnoticed(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            try storage.store(RandomData.bytes(100), as: "old.bin")
            try kind.owner.delete(try #require(account.folder.folderID), in: storage)

            #expect(throws: CloudStorageError.unavailable(detail: "")) { try storage.store(RandomData.bytes(size)) }
            try storage.store(RandomData.bytes(size))

            #expect(try account.files().map(\.size) == [size])
        }

        @Test(
            "A folder that the owner moved or renamed is still used [F24]", arguments: ProviderUnderTest.allWithFolders)
        func renamedFolder(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            try storage.store(RandomData.bytes(100), as: "old.bin")
            let folder = try #require(account.folder.folderID)
            try kind.owner.rename(folder, to: "Pictures", in: storage)
            account.folder.markDoubtful()

            try storage.store(RandomData.bytes(100), as: "new.bin")

            #expect(account.folder.folderID == folder)
            #expect(try account.files().map(\.folder) == ["Pictures", "Pictures"])
        }

        @Test("Of several folders with the same name, the oldest is used [F24]")
        func duplicateFolders() throws {
            let account = try ContractAccount(.googleDrive)
            let storage = try account.open()
            let owner = DriveOwner()
            func makeFolder(_ name: String, year: Int) throws -> String {
                try owner.makeFolder(name, createdAt: "\(year)-01-01T00:00:00.000Z", in: storage)
            }
            _ = try makeFolder("Sync Tests", year: 2023)
            let oldest = try makeFolder("Sync Tests", year: 2021)
            _ = try makeFolder("Sync Tests", year: 2022)
            _ = try makeFolder("Sync Tests 2", year: 2020)

            try storage.store(RandomData.bytes(100))

            #expect(account.folder.folderID == oldest)
        }

        @Test("Two concurrent first uploads use one folder", arguments: ProviderUnderTest.allWithFolders, [2, 6])
        func concurrentFirstUploads(kind: ProviderUnderTest, count: Int) async throws {
            let account = try ContractAccount(kind)

            _ = try await Threads.run(count) { number in
                try account.open().store(RandomData.bytes(1_000), as: "\(number).bin")
            }

            #expect(try kind.owner.folders("Sync Tests", in: account.open()).count == 1)
            #expect(Set(try account.files().map(\.folder)) == ["Sync Tests"])
            #expect(try account.files().count == count)
        }
    }
}
