import Providers
import TestSupport
import Testing

extension CloudProviderTests {
    /// Behaviour that only Drive has, on the emulated Drive.
    @Suite("Drive on the sandbox")
    struct DriveOnSandboxTests {
        let account: ContractAccount
        let storage: ContractStorage
        let bytes = RandomData.bytes(3_000_000)

        init() throws {
            account = try ContractAccount(.googleDrive)
            storage = try account.open()
        }

        private func partFault(times: Int = 1, skip: Int = 0, status: Int? = nil) -> SandboxFault {
            var fault = SandboxFault(
                pathPrefix: "/upload/drive/v3/files", method: "PUT", status: status, times: times)
            fault.skip = skip
            return fault
        }

        private func expectStored(_ stored: StoredObject) throws {
            #expect(try storage.read(stored.objectID) == bytes)
            #expect(try account.files().map(\.size) == [bytes.count])
        }

        @Test("If Drive stores only a piece of each part, the upload completes nevertheless")
        func partialPersistence() throws {
            var fault = partFault(times: 6)
            fault.keepBytes = 300_000
            try account.sandbox.inject(fault)

            try expectStored(storage.store(PartedContent(bytes, for: .googleDrive, partBytes: 1 << 20)))
        }

        @Test(
            "After a connection breaks within a part, the upload continues at Drive's offset",
            arguments: [1, 262_144, 300_000, 1_000_000], [0, 1, 2])
        func brokenPart(after: Int, part: Int) throws {
            var fault = partFault(skip: part)
            fault.resetAfterBytes = after
            try account.sandbox.inject(fault)

            try expectStored(storage.store(PartedContent(bytes, for: .googleDrive, partBytes: 1 << 20)))
        }

        @Test("A session lost at its first part is restarted; one lost later fails and leaves nothing")
        func lostSession() throws {
            try account.sandbox.inject(partFault(status: 404))
            let stored = try storage.store(bytes)
            try expectStored(stored)
            try storage.provider.delete(objectID: stored.objectID, in: storage.access())

            try account.sandbox.inject(partFault(skip: 2, status: 404))
            #expect(throws: CloudStorageError.unavailable(detail: "")) { try storage.store(bytes) }
            #expect(try account.files().isEmpty)
        }

        @Test(
            "An upload after the owner has moved the folder to the bin is stored outside the bin",
            arguments: [100, 3_000_000])
        func folderInBin(size: Int) throws {
            try storage.store(bytes, as: "before.bin")
            let folder = try #require(account.folder.folderID)
            try account.kind.owner.trash(folder, in: storage)

            let stored = try storage.store(RandomData.bytes(size), as: "after.bin")

            #expect(!stored.isInBin)
            #expect(try !storage.describe(stored.objectID).isInBin)
            #expect(account.folder.folderID != folder)
            #expect(try storage.provider.find(name: "after.bin", in: storage.access())?.objectID == stored.objectID)
            // The next one is stored in a new folder at once.
            #expect(try storage.store(bytes, as: "next.bin").isInBin == false)
        }

        @Test("Delayed search results cause neither a second folder nor a second object")
        func searchLag() async throws {
            try account.sandbox.changeSettings(["searchLagMilliseconds": 60_000])
            defer { try? account.sandbox.changeSettings(["searchLagMilliseconds": 0]) }

            _ = try await Threads.run(4) { [account] number in
                try account.open().store(RandomData.bytes(1_000), as: "\(number).bin")
            }

            #expect(try account.files().count == 4)
            try account.sandbox.changeSettings(["searchLagMilliseconds": 0])
            #expect(try account.kind.owner.folders("Sync Tests", in: storage).count == 1)
        }
    }
}
