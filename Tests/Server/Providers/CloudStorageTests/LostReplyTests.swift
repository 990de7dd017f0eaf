import Providers
import SyncProtocol
import TestSupport
import Testing

/// One way in which a single request fails.
enum Mishap: String, Sendable, CaseIterable {
    case connectionCutBefore = "connection cut before it took effect"
    case replyLost = "took effect, reply lost"
    case unavailableBefore = "503 before it took effect"
    case errorAfterEffect = "took effect, 500 as reply"

    func fault(_ kind: ProviderUnderTest, skip: Int) -> SandboxFault {
        var fault = kind.fault(times: 1)
        fault.skip = skip
        switch self {
        case .connectionCutBefore: fault.resetAfterBytes = 0
        case .replyLost: fault.afterEffect = true
        case .unavailableBefore: fault.status = 503
        case .errorAfterEffect:
            fault.status = 500
            fault.afterEffect = true
        }
        return fault
    }
}

extension CloudProviderTests {
    @Suite("CloudProviderContract: one failure at any request")
    struct LostReplyTests {
        /// Every server gets a request whose reply is lost. A request that fails before it takes effect reaches no
        /// server: the sandbox in front fails in its place, so one of each protocol is enough.
        private static let uploads =
            ProviderUnderTest.all.flatMap { kind in [Mishap.replyLost, .errorAfterEffect].map { (kind, $0) } }
            + ProviderUnderTest.oneOfEachProtocol.flatMap { kind in
                [Mishap.connectionCutBefore, .unavailableBefore].map { (kind, $0) }
            }

        @Test("A first upload ends with exactly one object in one folder [F26]", arguments: uploads)
        func upload(kind: ProviderUnderTest, mishap: Mishap) throws {
            for size in [0, 1_000, 700_000] {
                let steps = try Self.steps(of: size, kind)
                for step in 0..<steps {
                    let account = try ContractAccount(kind)
                    let storage = try account.open()
                    let bytes = RandomData.bytes(size)
                    try account.sandbox.inject(mishap.fault(kind, skip: step))

                    let stored = try storage.store(bytes)

                    #expect(try account.sandbox.unspentFaults() == [], "request \(step) of \(steps)")
                    #expect(try account.files().map(\.size) == [size], "request \(step) of \(steps)")
                    #expect(try storage.read(stored.objectID) == bytes)
                    if kind.hasFolders { #expect(try kind.owner.folders("Sync Tests", in: storage).count == 1) }
                }
            }
        }

        /// The real S3 servers, each of which treats a repeated completion differently.
        private static let buckets = ProviderUnderTest.all.filter { $0.account.accountType == .s3 }

        @Test(
            "A multipart upload completed without a usable reply ends with one object and no open upload",
            arguments: buckets, [Mishap.replyLost, .errorAfterEffect])
        func completion(kind: ProviderUnderTest, mishap: Mishap) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let before = try (kind.real as? S3Servers)?.unfinishedUploads()
            let bytes = RandomData.bytes(kind.partedBytes)
            var fault = mishap.fault(kind, skip: 0)
            (fault.method, fault.queryContains) = ("POST", "uploadId")
            try account.sandbox.inject(fault)

            let stored = try storage.store(bytes)

            #expect(try account.sandbox.unspentFaults() == [])
            #expect(try account.files().map(\.size) == [bytes.count])
            #expect(try storage.read(stored.objectID) == bytes)
            #expect(try (kind.real as? S3Servers)?.unfinishedUploads() == before)
        }

        @Test(
            "An upload in chunks is not sent again if the reply to its assembly is lost",
            arguments: [.replyLost, Mishap.errorAfterEffect])
        func assembly(mishap: Mishap) throws {
            let account = try ContractAccount(.nextcloud)
            let storage = try account.open()
            let bytes = RandomData.bytes(account.kind.partedBytes)
            var fault = mishap.fault(account.kind, skip: 0)
            (fault.method, fault.pathPrefix) = ("MOVE", account.kind.partPath)
            try account.sandbox.inject(fault)

            var stored: StoredObject?
            let requests = try account.requests { stored = try storage.store(bytes) }

            #expect(requests.count { $0.method?.text == "PUT" } == 3)
            #expect(try account.files().map(\.size) == [bytes.count])
            #expect(try storage.read(try #require(stored).objectID) == bytes)
        }

        @Test("A deletion succeeds, and the object is gone", arguments: ProviderUnderTest.all, Mishap.allCases)
        func delete(kind: ProviderUnderTest, mishap: Mishap) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let stored = try storage.store(RandomData.bytes(100))
            try account.sandbox.inject(mishap.fault(kind, skip: 0))

            try storage.provider.delete(objectID: stored.objectID, in: storage.access())

            #expect(try account.files().isEmpty)
        }

        @Test("Reading succeeds", arguments: ProviderUnderTest.all, Mishap.allCases)
        func read(kind: ProviderUnderTest, mishap: Mishap) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(100)
            let stored = try storage.store(bytes)

            try account.sandbox.inject(mishap.fault(kind, skip: 0))
            #expect(try storage.describe(stored.objectID).undated == stored.undated)
            try account.sandbox.inject(mishap.fault(kind, skip: 0))
            #expect(try storage.provider.find(name: "file.bin", in: storage.access())?.undated == stored.undated)
            try account.sandbox.inject(mishap.fault(kind, skip: 0))
            #expect(try storage.read(stored.objectID) == bytes)
        }

        /// The number of requests in a first upload of this size without failures.
        private static func steps(of size: Int, _ kind: ProviderUnderTest) throws -> Int {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            return try account.calls { try storage.store(RandomData.bytes(size)) }
        }
    }
}
