import HTTPTransport
import HTTPTypes
import Providers
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: ranges")
    struct DownloadRangeTests {
        private static let size = 300_000

        @Test(
            "A range returns exactly its bytes, and reports the length of the whole",
            arguments: ProviderUnderTest.all,
            [0...0, 0...299_999, 299_999...299_999, 1...299_998, 65_536...131_071] as [ClosedRange<Int64>])
        func range(kind: ProviderUnderTest, range: ClosedRange<Int64>) throws {
            let storage = try ContractAccount(kind).open()
            let bytes = RandomData.bytes(Self.size)
            let stored = try storage.store(bytes)
            var length: Int64?

            let part = try storage.read(stored.objectID, range) { length = $0 }

            #expect(part == Array(bytes[Int(range.lowerBound)...Int(range.upperBound)]))
            #expect(length == Int64(Self.size))
        }

        @Test("An interrupted range continues where it broke off", arguments: ProviderUnderTest.all)
        func interrupted(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let bytes = RandomData.bytes(Self.size)
            let stored = try storage.store(bytes)
            var fault = kind.downloadFault(times: 1)
            fault.truncateAfterBytes = 50_000
            try storage.account.sandbox.inject(fault)

            #expect(try storage.read(stored.objectID, 100_000...250_000) == Array(bytes[100_000...250_000]))
        }

        @Test(
            "A range beyond the end is a mismatch", arguments: ProviderUnderTest.all,
            [299_000...300_000, 300_000...300_001] as [ClosedRange<Int64>])
        func beyond(kind: ProviderUnderTest, range: ClosedRange<Int64>) throws {
            let storage = try ContractAccount(kind).open()
            let stored = try storage.store(RandomData.bytes(Self.size))

            #expect(throws: CloudStorageError.contentMismatch) { _ = try storage.read(stored.objectID, range) }
        }

        @Test("If the provider ignores the range, only the range is delivered, and nothing beyond it is read")
        func ignored() throws {
            let storage = ScriptedStorage(
                Reply(200, "0123", headers: [.contentLength: "10"]),
                Reply(200, "0123456789", headers: [.contentLength: "10"]))
            var received: [UInt8] = []
            var length: Int64?

            try GoogleDrive().download(
                objectID: "ID", range: 2...6, from: storage.access(), begin: { length = $0 },
                receive: { part in
                    for index in part.indices { received.append(part[index]) }
                    return true
                })

            #expect(received == Array("23456".utf8))
            #expect(length == 10)
            #expect(storage.steps == ["GET bytes=2-6 0", "GET bytes=4-6 0"])
        }

        @Test(
            "A negative length is treated as missing, wherever it appears",
            arguments: [
                Reply(206, "0", headers: [.contentRange: "bytes 0-4/-9223372036854775808", .contentLength: "1"]),
                Reply(200, "0", headers: [.contentLength: "-9223372036854775808"]),
                Reply(200, "0", headers: [.contentRange: "bytes 0-1/2", .contentLength: "-9223372036854775808"]),
            ])
        func negative(reply: Reply) throws {
            let storage = ScriptedStorage(reply)
            var lengths: [Int64?] = []

            try GoogleDrive().download(
                objectID: "ID", from: storage.access(), begin: { lengths.append($0) }, receive: { _ in true })

            #expect(lengths == [nil])
        }
    }
}

extension ContractStorage {
    /// Some bytes of an object.
    fileprivate func read(
        _ objectID: String, _ range: ClosedRange<Int64>, begin: (Int64?) -> Void = { _ in }
    ) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try provider.download(
            objectID: objectID, range: range, from: access(), begin: begin,
            receive: { part in
                for index in part.indices { bytes.append(part[index]) }
                return true
            })
        return bytes
    }
}
