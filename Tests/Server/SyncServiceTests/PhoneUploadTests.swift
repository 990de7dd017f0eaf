import Foundation
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

@Suite("The body of an upload, part by part")
struct PhoneUploadTests {
    private let granularity = 256 * 1024

    private func upload(
        _ connection: FakeConnection, length: Int64, checkSum: String, budget: PartBudget = PartBudget(),
        background: Services.Background? = nil, keepAlive: @escaping () throws -> Void = {}
    ) -> PhoneUpload {
        PhoneUpload(
            RequestBody(of: connection, announcedBytes: length), lengthBytes: length, expected: CheckSum(checkSum)!,
            storageType: .google, budget: budget, background: background, keepAlive: keepAlive)
    }

    private func upload(_ bytes: [UInt8], budget: PartBudget = PartBudget()) -> PhoneUpload {
        upload(FakeConnection(body: bytes), length: Int64(bytes.count), checkSum: md5(bytes), budget: budget)
    }

    @Test(
        "Parts hold all bytes in order, each a multiple of the granularity but the last",
        arguments: [256 * 1024, 320 * 1024])
    func parts(granularity: Int) throws {
        let bytes = someBytes(3_000_001)
        let upload = upload(bytes)
        var received: [UInt8] = []
        var isLast = false
        while !isLast {
            let part = try upload.nextPart(granularity: granularity)
            #expect(part.offset == Int64(received.count))
            #expect(part.isLast || part.bytes.count % granularity == 0)
            received += part.bytes
            isLast = part.isLast
        }

        #expect(received == bytes)
        #expect(upload.hashes?.checkSum.rawValue == md5(bytes))
        #expect(upload.providerHash == md5(bytes))
    }

    @Test("Content of an exact number of parts has no empty one at its end; empty content has one empty part")
    func boundaries() throws {
        let exact = upload(someBytes(granularity))
        #expect(try exact.nextPart(granularity: granularity).isLast)
        let empty = upload([])
        let part = try empty.nextPart(granularity: granularity)
        #expect(part.isLast && part.bytes.isEmpty && part.offset == 0)
        #expect(empty.hashes?.checkSum.rawValue == "d41d8cd98f00b204e9800998ecf8427e")
    }

    @Test("Parts double up to 4 MiB while the phone is fast, and the memory is released at the end")
    func growth() throws {
        let zeros: Int64 = 40 << 20
        // What uploads may use beyond their first 256 KiB: 4 MiB less 256 KiB.
        let budget = PartBudget(bytes: 4 << 20)
        do {
            let upload = upload(
                FakeConnection(zeros: zeros), length: zeros, checkSum: "00000000000000000000000000000000",
                budget: budget)
            var sizes: [Int] = []
            for _ in 0..<7 { sizes.append(try upload.nextPart(granularity: granularity).bytes.count) }
            #expect(sizes.map { $0 / granularity } == [1, 2, 4, 8, 16, 16, 16])
            #expect(!budget.take(granularity + 1), "the rest is in use")
        }
        #expect(budget.take(4 << 20), "all is there again")
    }

    @Test("Before the part that creates the object a callback is called, which may throw")
    func confirmation() throws {
        let bytes = someBytes(granularity + 1)
        let upload = PhoneUpload(
            RequestBody(of: FakeConnection(body: bytes), announcedBytes: Int64(bytes.count)),
            lengthBytes: Int64(bytes.count), expected: CheckSum(md5(bytes))!, storageType: .google,
            budget: PartBudget(), keepAlive: {}, beforeLastPart: { throw EndpointError.uploadConflict })

        #expect(try !upload.nextPart(granularity: granularity).isLast)
        #expect(throws: EndpointError.self) { _ = try upload.nextPart(granularity: granularity) }
    }

    @Test("Without budget parts stay small, and other uploads continue")
    func noBudget() throws {
        let upload = upload(someBytes(1 << 20), budget: PartBudget(bytes: granularity - 1))

        let sizes = try (0..<4).map { _ in try upload.nextPart(granularity: granularity).bytes.count }

        #expect(sizes == [granularity, granularity, granularity, granularity])
    }

    // MARK: Reading ahead

    private let threads: Services.Background = { body in Thread.detachNewThread(body) }

    @Test("Reading ahead changes neither the bytes nor their order, and releases its memory")
    func readAhead() throws {
        let bytes = someBytes(20_000_001)
        let budget = PartBudget(bytes: 32 << 20)
        let started = Mutex(0)
        do {
            let upload = upload(
                FakeConnection(body: bytes), length: Int64(bytes.count), checkSum: md5(bytes), budget: budget,
                background: { body in
                    started.withLock { $0 += 1 }
                    Thread.detachNewThread(body)
                })
            var received: [UInt8] = []
            var isLast = false
            while !isLast {
                let part = try upload.nextPart(granularity: granularity)
                #expect(part.offset == Int64(received.count))
                received += part.bytes
                isLast = part.isLast
            }

            #expect(received == bytes)
            #expect(upload.hashes?.checkSum.rawValue == md5(bytes))
            #expect(started.withLock { $0 } >= 2)
        }
        #expect(budget.take(32 << 20))
    }

    @Test("An error while reading ahead is thrown when the part is requested, and the last one is withheld")
    func readAheadFails() throws {
        let upload = upload(
            FakeConnection(body: someBytes(9_000_000)), length: 20_000_000, checkSum: md5([]), background: threads)

        #expect(throws: EndpointError.bodyLengthMismatch) { try takeParts(of: upload) }
    }

    @Test("An upload ended by the cloud waits for the read in progress, and leaves the rest unread")
    func stopReading() throws {
        let connection = FakeConnection(zeros: 60_000_000)
        let budget = PartBudget(bytes: 32 << 20)
        let upload = upload(
            connection, length: 60_000_000, checkSum: md5([]), budget: budget, background: threads)
        for _ in 0..<5 { _ = try upload.nextPart(granularity: granularity) }

        upload.stopReading()

        let read = connection.readBytes
        #expect(read < 60_000_000)
        upload.stopReading()
        #expect(connection.readBytes == read)
    }

    // MARK: What is held

    @Test("Received bytes count as buffered until the next part is requested, and none do at the end")
    func held() throws {
        let held = Mutex((now: 0, most: 0))
        let budget = PartBudget { bytes in
            held.withLock { held in
                held.now += bytes
                held.most = max(held.most, held.now)
            }
        }
        var upload: PhoneUpload? = upload(someBytes(3 * granularity + 1), budget: budget)

        for size in [granularity, 2 * granularity, 1] {
            #expect(try upload?.nextPart(granularity: granularity).bytes.count == size)
            #expect(held.withLock { $0.now } == size)
        }
        upload = nil
        #expect(held.withLock { $0.now } == 0)
        #expect(held.withLock { $0.most } == 2 * granularity)
    }

    @Test("An aborted upload leaves nothing buffered, wherever it was", arguments: [false, true])
    func heldByBrokenOff(isReadAhead: Bool) async throws {
        let held = Mutex(0)
        do {
            let upload = upload(
                FakeConnection(body: someBytes(9_000_000)), length: 20_000_000, checkSum: md5([]),
                budget: PartBudget { bytes in held.withLock { $0 += bytes } }, background: isReadAhead ? threads : nil)
            #expect(throws: EndpointError.bodyLengthMismatch) { try takeParts(of: upload) }
            #expect(held.withLock { $0 } > 0)
            withExtendedLifetime(upload) {}
        }
        // The thread that read ahead has its own reference, which it gives up in a moment.
        try await eventually("nothing is held") { held.withLock { $0 } == 0 }
    }

    // MARK: What must never be published

    /// Takes parts until there is an error; none of them may be the last one.
    private func takeParts(of upload: PhoneUpload) throws {
        while true {
            let part = try upload.nextPart(granularity: granularity)
            guard !part.isLast else {
                Issue.record("the last part was handed out")
                return
            }
        }
    }

    @Test("With a wrong checksum the last part is never returned", arguments: [10, 256 * 1024, 600_000])
    func wrongCheckSum(length: Int) throws {
        let upload = upload(
            FakeConnection(body: someBytes(length)), length: Int64(length), checkSum: md5(someBytes(length + 1)))

        #expect(throws: EndpointError.checkSumMismatch) {
            try takeParts(of: upload)
        }
        #expect(upload.hashes == nil)
    }

    @Test("If the content ends early the last part is never returned", arguments: [0, 1, 16 * 1024, 299_999])
    func shortBody(arriving: Int) throws {
        let bytes = someBytes(300_000)
        let upload = upload(
            FakeConnection(body: Array(bytes.prefix(arriving))), length: 300_000, checkSum: md5(bytes))

        #expect(throws: EndpointError.bodyLengthMismatch) {
            try takeParts(of: upload)
        }
    }

    @Test(
        "Of content that goes on after its announced end the last part is never handed out",
        arguments: [0, 10, 256 * 1024])
    func surplus(length: Int) throws {
        let bytes = someBytes(length)
        let upload = upload(FakeConnection(body: bytes + [0]), length: Int64(length), checkSum: md5(bytes))

        #expect(throws: EndpointError.bodyLengthMismatch) {
            try takeParts(of: upload)
        }
    }

    @Test("If the phone disconnects, even after its last byte, nothing is published")
    func hangsUp() throws {
        let bytes = someBytes(300_000)
        for arriving in [10, 270_000, 300_000] as [Int64] {
            let connection = FakeConnection(body: bytes)
            connection.hangsUpAfterBytes = arriving
            let upload = upload(connection, length: 300_000, checkSum: md5(bytes))
            #expect(throws: ClientGone.self) {
                try takeParts(of: upload)
            }
        }
    }

    @Test("Progress is reported every few kilobytes, and an error thrown there ends the upload")
    func keepAlive() throws {
        struct LeaseLost: Error {}
        let bytes = someBytes(200_000)
        var calls = 0
        let upload = upload(
            FakeConnection(body: bytes), length: 200_000, checkSum: md5(bytes),
            keepAlive: {
                calls += 1
                if calls > 5 { throw LeaseLost() }
            })

        #expect(throws: LeaseLost.self) { try upload.nextPart(granularity: granularity) }
        #expect(calls == 6)
    }
}
