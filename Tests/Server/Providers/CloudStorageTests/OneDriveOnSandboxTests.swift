import Providers
import TestSupport
import Testing

extension CloudProviderTests {
    /// Behaviour that only OneDrive has, on the emulated OneDrive.
    @Suite("OneDrive on the sandbox")
    struct OneDriveOnSandboxTests {
        let account: ContractAccount
        let storage: ContractStorage
        let bytes = RandomData.bytes(3_000_000)

        init() throws {
            account = try ContractAccount(.oneDrive)
            storage = try account.open()
        }

        private func partFault(status: Int? = nil, skip: Int = 0) -> SandboxFault {
            var fault = SandboxFault(
                host: "my.microsoftpersonalcontent.com", method: "PUT", status: status, times: 1)
            fault.skip = skip
            return fault
        }

        private func expectStored(_ stored: StoredObject) throws {
            #expect(try storage.read(stored.objectID) == bytes)
            #expect(try account.files().map(\.size) == [bytes.count])
        }

        @Test(
            "If OneDrive stores a piece of a block, up to an odd offset, it receives everything in the end",
            arguments: [1, 100_001])
        func partialPersistence(kept: Int) throws {
            var fault = partFault(skip: 1)
            fault.keepBytes = kept
            try account.sandbox.inject(fault)

            try expectStored(storage.store(PartedContent(bytes, for: .oneDrive, partBytes: 1 << 20)))
        }

        @Test(
            "After a break within a block, the upload continues at OneDrive's offset", arguments: [1, 400_000], [0, 2])
        func brokenPart(after: Int, part: Int) throws {
            var fault = partFault(skip: part)
            fault.resetAfterBytes = after
            try account.sandbox.inject(fault)

            try expectStored(storage.store(PartedContent(bytes, for: .oneDrive, partBytes: 1 << 20)))
        }

        @Test("An existing object is found by id and by name; a missing one is not found [355]")
        func presence() throws {
            let access = storage.access()
            #expect(try storage.provider.find(name: "file.bin", in: access) == nil)
            let stored = try storage.store(RandomData.bytes(100))

            #expect(try storage.provider.describe(objectID: stored.objectID, in: access) == stored)
            #expect(try storage.provider.find(name: "file.bin", in: access)?.objectID == stored.objectID)
            #expect(try storage.provider.find(name: "file", in: access) == nil)

            try storage.provider.delete(objectID: stored.objectID, in: access)
            #expect(throws: CloudStorageError.notFound) {
                try storage.provider.describe(objectID: stored.objectID, in: access)
            }
            #expect(try storage.provider.find(name: "file.bin", in: access) == nil)
        }

        @Test(
            "Up to one block is uploaded in one request, larger content by a session, and all read back intact [361]",
            arguments: [163_840, 327_680, 655_360, 667_705])
        func blocks(size: Int) throws {
            let bytes = RandomData.bytes(size)
            var objectID = ""

            let requests = try account.requests {
                objectID = try storage.store(PartedContent(bytes, for: .oneDrive, partBytes: 327_680)).objectID
            }

            let sessions = requests.count { $0.path?.text?.contains("createUploadSession") == true }
            #expect(sessions == (size > 327_680 ? 1 : 0))
            #expect(try storage.read(objectID) == bytes)
            #expect(try account.files().map(\.size) == [size])
        }

        @Test("Both forms of expected ranges are understood, as is a session that is not found at once")
        func variants() throws {
            try account.sandbox.changeSettings(["oneDriveSessionLag": 1])
            defer { try? account.sandbox.changeSettings(["oneDriveSessionLag": 0]) }
            try expectStored(storage.store(bytes))
            #expect(account.pauses.pauses == [.seconds(5)])
        }

        @Test("Without hashes an upload is verified by size, and reported as such")
        func lateHash() throws {
            try account.sandbox.changeSettings(["oneDriveHashDelayMs": 3_600_000])
            defer { try? account.sandbox.changeSettings(["oneDriveHashDelayMs": 0]) }
            let stored = try storage.store(bytes)
            #expect(stored.providerHash == nil && stored.revision != nil)
            #expect(try storage.describe(stored.objectID) == stored)
        }

        @Test(
            "OneDrive creates the app's folder automatically, and again after its owner deleted it [363]",
            arguments: [100, 700_000])
        func folder(size: Int) throws {
            let bytes = RandomData.bytes(size)
            try storage.store(bytes, as: "first.bin")
            try account.kind.owner.delete(try #require(account.folder.folderID), in: storage)
            #expect(try account.files().isEmpty)

            try storage.store(bytes, as: "second.bin")

            #expect(try account.files().map(\.name) == ["second.bin"])
        }

        @Test("An upload that fails leaves no session behind")
        func cancelled() throws {
            let content = PartedContent(bytes, for: .oneDrive) { isLast in if isLast { throw PartedContent.Failure() } }
            let requests = try account.requests {
                #expect(throws: CloudStorageError.contentFailed(PartedContent.Failure())) { try storage.store(content) }
            }
            #expect(requests.last?.method?.text == "DELETE" && requests.last?.status?.integer == 204)
        }
    }
}
