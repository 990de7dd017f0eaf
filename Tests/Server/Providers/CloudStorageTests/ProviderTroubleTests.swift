import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: failures of the provider")
    struct ProviderTroubleTests {
        /// The sandbox stands in front of real servers and fails in their place, so one provider of each protocol is
        /// enough.
        static let operations = StorageOperation.of(ProviderUnderTest.oneOfEachProtocol)

        /// An account with one object, `file.bin`.
        private func storage(_ kind: ProviderUnderTest) throws -> (ContractStorage, StoredObject) {
            let storage = try ContractAccount(kind).open()
            return (storage, try storage.store(RandomData.bytes(1_000)))
        }

        /// The number of requests that examine the folder without a pause, after a failure that it may explain.
        private func looks(_ kind: ProviderUnderTest, _ operation: StorageOperation) -> Int {
            kind.account.accountType == .webDAV && [.uploadSmall, .uploadLarge].contains(operation) ? 1 : 0
        }

        @Test(
            "The requested delay is respected, and then the operation succeeds", arguments: operations)
        func retryAfter(kind: ProviderUnderTest, operation: StorageOperation) throws {
            let (storage, object) = try storage(kind)
            var fault = kind.fault(status: 429, times: 1)
            fault.retryAfter = 7
            try storage.account.sandbox.inject(fault)

            try operation.perform(on: object, in: storage)

            let pauses = storage.account.pauses.pauses
            #expect(pauses.count == 1 && pauses.allSatisfy { (.seconds(7)...(.milliseconds(7_701))).contains($0) })
        }

        @Test(
            "If the requested delay exceeds the deadline, the operation fails at once", arguments: operations)
        func longRetryAfter(kind: ProviderUnderTest, operation: StorageOperation) throws {
            let (storage, object) = try storage(kind)
            var fault = kind.fault(status: 429, times: 1)
            fault.retryAfter = 3_600
            try storage.account.sandbox.inject(fault)

            #expect(throws: CloudStorageError.rateLimited(retryAfter: nil)) {
                try operation.perform(on: object, in: storage)
            }

            #expect(storage.account.pauses.pauses.isEmpty)
            #expect(try storage.account.files().map(\.name) == ["file.bin"])
        }

        @Test(
            "A burst of errors is overcome", arguments: operations, [500, 502, 503, 504])
        func burst(operation: (ProviderUnderTest, StorageOperation), status: Int) throws {
            let (kind, operation) = operation
            let (storage, object) = try storage(kind)
            try storage.account.sandbox.inject(kind.fault(status: status, times: 3))

            try operation.perform(on: object, in: storage)

            #expect(storage.account.pauses.pauses.count == 3 - looks(kind, operation))
        }

        @Test(
            "A lasting error ends as unavailable after five tries, or with the provider's meaning, and leaves nothing",
            arguments: operations)
        func lastingError(kind: ProviderUnderTest, operation: StorageOperation) throws {
            let (storage, object) = try storage(kind)
            try storage.account.sandbox.inject(kind.fault(status: 503))

            // S3's 503 means too many requests.
            let meaning: CloudStorageError =
                kind.name.hasPrefix("S3") ? .rateLimited(retryAfter: nil) : .unavailable(detail: "")
            let calls = try storage.account.calls {
                #expect(throws: meaning) {
                    try operation.perform(on: object, in: storage)
                }
            }

            #expect(calls == 5 + looks(kind, operation))
            #expect(try storage.account.files().map(\.name) == ["file.bin"])
        }

        @Test(
            "A provider that does not reply fails at the deadline",
            arguments: operations)
        func silence(kind: ProviderUnderTest, operation: StorageOperation) async throws {
            let (storage, object) = try storage(kind)
            var fault = kind.fault()
            fault.latencyMilliseconds = 4_000
            try storage.account.sandbox.inject(fault)

            let begin = ContinuousClock.now
            #expect(throws: CloudStorageError.timedOut) {
                try operation.perform(on: object, in: storage, within: .milliseconds(600))
            }

            // The low-speed rule ends stalled downloads, and counts in whole seconds.
            #expect(ContinuousClock.now - begin < .milliseconds(3_500))
            try storage.account.sandbox.clearFaults()
        }

        @Test(
            "An HTML page instead of an answer is a temporary failure",
            arguments: operations.filter { $0.1 != .download && $0.1 != .delete })
        func page(kind: ProviderUnderTest, operation: StorageOperation) throws {
            let (storage, object) = try storage(kind)
            var fault = kind.fault(status: 200)
            fault.body = "<html>Welcome to the hotel's wireless network</html>"
            try storage.account.sandbox.inject(fault)

            #expect(throws: CloudStorageError.unavailable(detail: "")) {
                try operation.perform(on: object, in: storage)
            }
        }

        @Test("A 404 not in the provider's format is not \"not found\"", arguments: ProviderUnderTest.oneOfEachProtocol)
        func foreignNotFound(kind: ProviderUnderTest) throws {
            let (storage, object) = try storage(kind)
            var fault = kind.fault(status: 404)
            fault.body = "<html>404 Not Found</html>"
            try storage.account.sandbox.inject(fault)

            for operation in [StorageOperation.describe, .download, .delete] {
                #expect(throws: CloudStorageError.unavailable(detail: "")) {
                    try operation.perform(on: object, in: storage)
                }
            }
        }

        @Test(
            "A full storage is reported as such, and nothing is left in it", arguments: ProviderUnderTest.allWithQuota,
            [200_000, 2_000_000])
        func quota(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind, quotaBytes: 150_000)
            let storage = try account.open()

            #expect(throws: CloudStorageError.quotaExceeded) { try storage.store(RandomData.bytes(size)) }

            #expect(try account.files().isEmpty)
            try storage.store(RandomData.bytes(100_000))
        }

        @Test(
            "A storage that is full at the last part is reported as full", arguments: ProviderUnderTest.allWithParts)
        func quotaAtTheEnd(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            var fault = SandboxFault(
                host: kind.host, pathPrefix: kind.partPath ?? kind.uploadPath, method: kind.partMethod,
                status: kind.quotaError.status, times: 1)
            fault.reason = kind.quotaError.reason
            fault.skip = 2
            try account.sandbox.inject(fault)

            #expect(throws: CloudStorageError.quotaExceeded) {
                try storage.store(RandomData.bytes(kind.partedBytes))
            }

            #expect(try account.files().isEmpty)
        }

        @Test(
            "Content that proves wrong at its last part leaves no object", arguments: ProviderUnderTest.all,
            [0, 1_000, 262_144, 700_000, 2_000_000])
        func failingContent(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let content = PartedContent(RandomData.bytes(size), for: kind) { isLast in
                if isLast { throw PartedContent.Failure() }
            }

            #expect {
                try storage.store(content)
            } throws: { error in
                guard case .contentFailed(let inner)? = error as? CloudStorageError else { return false }
                return inner is PartedContent.Failure
            }

            #expect(try account.files().isEmpty)
        }

        @Test("Bytes that change in transit are detected", arguments: ProviderUnderTest.all, [true, false])
        func corruptedUpload(kind: ProviderUnderTest, isParted: Bool) throws {
            guard !isParted || kind.hasParts else { return }
            let account = try ContractAccount(kind)
            try account.open().store(RandomData.bytes(10), as: "first")
            // A process that has just started and does not know the storage yet.
            let storage = try account.open()
            let path = isParted ? kind.partPath ?? kind.uploadPath : kind.uploadPath
            var fault = SandboxFault(host: kind.host, pathPrefix: path, times: 1)
            // For large content, the fault affects the second part, because a request precedes the first.
            fault.skip = isParted ? 2 : 0
            fault.corruptAtByte = 50_000
            try account.sandbox.inject(fault)

            #expect(throws: CloudStorageError.contentMismatch) {
                try storage.store(RandomData.bytes(isParted ? kind.partedBytes : 100_000))
            }
        }

        @Test("A hash that differs from the announced one is detected", arguments: ProviderUnderTest.oneOfEachProtocol)
        func otherHash(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let others = PartedContent(RandomData.bytes(1_000), for: kind)
            let content = PartedContent(RandomData.bytes(1_000), for: kind, announcedHash: others.providerHash)

            #expect(throws: CloudStorageError.contentMismatch) { try storage.store(content) }
        }

        @Test(
            "An interrupted download resumes and delivers each byte once",
            arguments: ProviderUnderTest.oneOfEachProtocol,
            [1, 100_000, 900_000])
        func truncatedDownload(kind: ProviderUnderTest, after: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(2_000_000)
            let stored = try storage.store(bytes)
            var fault = kind.downloadFault(times: 2)
            fault.truncateAfterBytes = after
            try account.sandbox.inject(fault)

            var read: [UInt8] = []
            let calls = try account.calls { read = try storage.read(stored.objectID) }

            #expect(read == bytes)
            // A half-closed connection may cost one more request.
            #expect((3...4).contains(calls))
        }

        @Test(
            "An interrupted download that meets errors and an expired token continues",
            arguments: ProviderUnderTest.oneOfEachProtocol
        )
        func truncatedDownloadInTrouble(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(2_000_000)
            let stored = try storage.store(bytes)
            var cut = kind.downloadFault(times: 1)
            cut.truncateAfterBytes = 700_000
            try account.sandbox.inject(cut)
            var errors = kind.downloadFault(status: 500, times: 2)
            errors.skip = 1
            try account.sandbox.inject(errors)

            var isExpired = !kind.renewsTokens
            var read: [UInt8] = []
            try storage.provider.download(objectID: stored.objectID, from: storage.access()) { part in
                for index in part.indices { read.append(part[index]) }
                if !isExpired {
                    isExpired = true
                    do { try account.sandbox.expireAccessTokens(of: account.account) } catch { return false }
                }
                return true
            }

            #expect(read == bytes)
        }

        @Test(
            "A phone slower than the deadline can still upload, because time counts from a part's arrival",
            arguments: ProviderUnderTest.oneOfEachProtocol, [1_000, 600_000])
        func slowPhone(kind: ProviderUnderTest, size: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(size)
            let reservation = try storage.provider.reserve(name: "slow.bin", in: storage.access())
            let access = storage.access(within: .seconds(1))
            let content = PartedContent(bytes, for: kind) { _ in
                while !access.deadline.hasPassed { Thread.sleep(forTimeInterval: 0.01) }
                if kind.renewsTokens { try account.sandbox.expireAccessTokens(of: account.account) }
            }

            let stored = try storage.provider.upload(content, as: reservation, mimeType: "text/plain", to: access)

            #expect(try storage.read(stored.objectID) == bytes)
        }

        @Test(
            "A receiver slower than the deadline still receives everything, even if the download is interrupted",
            arguments: ProviderUnderTest.oneOfEachProtocol)
        func slowReceiver(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes(2_000_000)
            let stored = try storage.store(bytes)
            var fault = kind.downloadFault(times: 1)
            fault.truncateAfterBytes = 1_000_000
            try account.sandbox.inject(fault)
            let access = storage.access(within: .seconds(1))

            var read: [UInt8] = []
            try storage.provider.download(objectID: stored.objectID, from: access) { part in
                for index in part.indices { read.append(part[index]) }
                while !access.deadline.hasPassed { Thread.sleep(forTimeInterval: 0.01) }
                return true
            }

            #expect(read == bytes)
        }
    }
}
