import Foundation
import HTTPTransport
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
        keepAlive: @escaping () throws -> Void = {}, beforeEnd: @escaping () throws -> Void = {},
        now: @escaping () -> ContinuousClock.Instant = { .now }
    ) -> PhoneUpload {
        PhoneUpload(
            RequestBody(of: connection, announcedBytes: length), lengthBytes: length, expected: CheckSum(checkSum)!,
            storageType: .google, budget: budget, keepAlive: keepAlive, beforeEnd: beforeEnd, now: now)
    }

    private func upload(_ bytes: [UInt8], budget: PartBudget = PartBudget()) -> PhoneUpload {
        upload(FakeConnection(body: bytes), length: Int64(bytes.count), checkSum: md5(bytes), budget: budget)
    }

    /// Receives and sends all parts.
    private func sendParts(
        of upload: PhoneUpload, granularity: Int = 256 * 1024, each: (UploadPart) -> Void = { _ in }
    ) throws -> [UInt8] {
        var sent: [UInt8] = []
        while true {
            let part = try upload.nextPart(granularity: granularity)
            #expect(part.offset == Int64(sent.count))
            each(part)
            sent += try part.body().collected()
            if part.isLast { return sent }
        }
    }

    @Test(
        "Parts hold all bytes in order, each a multiple of the granularity except the last",
        arguments: [256 * 1024, 320 * 1024])
    func parts(granularity: Int) throws {
        let bytes = someBytes(20_000_001)
        let upload = upload(bytes)
        var sizes: [Int] = []

        let sent = try sendParts(of: upload, granularity: granularity) { part in
            sizes.append(part.count)
            #expect(part.isLast || part.count % granularity == 0)
        }

        #expect(sent == bytes)
        #expect(sizes.count > 2)
        #expect(upload.hashes?.checkSum.rawValue == md5(bytes))
        #expect(upload.providerHash == md5(bytes))
    }

    @Test("No part exceeds the limit, including the last one, even if the limit is less than a probe")
    func limits() throws {
        let bytes = someBytes(3_000_000)
        let upload = upload(bytes)

        var sent = 0
        let take: (Int, Int) throws -> Int = { granularity, limit in
            let part = try upload.nextPart(granularity: granularity, atMost: limit)
            try #require(part.offset == Int64(sent))
            #expect(try part.body().collected() == bytes[sent..<(sent + part.count)].map(\.self))
            sent += part.count
            return part.count
        }

        #expect(try take(1, 10) == 10)
        #expect(try take(granularity, granularity) == granularity)
        while sent < bytes.count { #expect(try take(1, 100_000) <= 100_000) }
        #expect(upload.hashes?.checkSum.rawValue == md5(bytes))
    }

    @Test("Content of an exact number of parts ends without an empty one, and empty content has one empty part")
    func boundaries() throws {
        let exact = upload(someBytes(granularity), budget: PartBudget(bytes: 0))
        #expect(try exact.nextPart(granularity: granularity).isLast)
        let empty = upload([])
        let part = try empty.nextPart(granularity: granularity)
        #expect(part.isLast && part.count == 0 && part.offset == 0)
        #expect(empty.hashes?.checkSum.rawValue == "d41d8cd98f00b204e9800998ecf8427e")
    }

    // MARK: Sending during arrival

    @Test("A fast phone's part is delivered before it has arrived, and is read from the phone while it is sent")
    func whileItArrives() throws {
        let bytes = someBytes(2_000_000)
        let connection = FakeConnection(body: bytes)
        let upload = upload(connection, length: 2_000_000, checkSum: md5(bytes))

        let part = try upload.nextPart(granularity: granularity)

        #expect(part.isLast && part.count == 2_000_000)
        #expect(connection.readBytes == 128 * 1024)
        #expect(try part.body(from: 1_999_000).collected() == bytes[1_999_000...].map(\.self))
        #expect(connection.readBytes == 2_000_000)
        #expect(try part.body().collected() == bytes, "it can be sent again")
        #expect(try part.whole() == bytes[...])
    }

    @Test("A slow phone's part is small, and is delivered after it has fully arrived; a phone may become faster")
    func slowPhone() throws {
        let bytes = someBytes(3_000_000)
        let connection = FakeConnection(body: bytes)
        var time = ContinuousClock.now
        var readTime = Duration.seconds(3)
        connection.beforeRead = { time += readTime }
        let upload = upload(connection, length: 3_000_000, checkSum: md5(bytes), now: { time })

        let first = try upload.nextPart(granularity: granularity)
        #expect(first.count == granularity && connection.readBytes == Int64(granularity))
        readTime = .milliseconds(1)
        let second = try upload.nextPart(granularity: granularity)
        #expect(second.count == granularity && connection.readBytes == Int64(2 * granularity))
        // The cloud's delay equals this phone's time for a MiB.
        time += .milliseconds(16)
        let third = try upload.nextPart(granularity: granularity)
        #expect(third.count > granularity && connection.readBytes == Int64(2 * granularity))
    }

    @Test("The deadline for sending a part counts from its arrival")
    func deadline() throws {
        let bytes = someBytes(2_000_000)
        let upload = upload(bytes)

        let part = try upload.nextPart(granularity: granularity)

        #expect(!part.deadline(within: .seconds(5)).hasPassed)
        #expect(part.deadline(within: .zero).hasPassed)
        try part.arrive()
        #expect(part.deadline(within: .seconds(5)).remaining < .seconds(5))
        withExtendedLifetime(upload) {}
    }

    @Test("The rest is one part that is sent once and keeps little in memory")
    func rest() throws {
        let bytes = someBytes(9_000_000)
        let held = Mutex((now: 0, most: 0))
        let budget = PartBudget { change in
            held.withLock { held in
                held.now += change
                held.most = max(held.most, held.now)
            }
        }
        let upload = upload(FakeConnection(body: bytes), length: 9_000_000, checkSum: md5(bytes), budget: budget)

        let part = try upload.rest()

        #expect(part.isLast && part.count == 9_000_000)
        #expect(try part.body().collected() == bytes)
        #expect(held.withLock { $0.most } <= 128 * 1024)
        #expect(throws: TransportError.cancelled) { try part.body().collected() }
        #expect(part.body().failure == nil, "the content is not the cause")
    }

    // MARK: Memory

    @Test("Parts grow with the cloud's delay, up to 8 MiB, and the memory is released at the end")
    func growth() throws {
        let zeros: Int64 = 60 << 20
        let budget = PartBudget(bytes: 64 << 20)
        do {
            var time = ContinuousClock.now
            let connection = FakeConnection(zeros: zeros)
            connection.beforeRead = { time += .microseconds(2_500) }
            let upload = upload(
                connection, length: zeros, checkSum: "00000000000000000000000000000000", budget: budget,
                now: { time })
            var sizes: [Int] = []
            for delay in [10, 200, 1_000, 0] {
                let part = try upload.nextPart(granularity: granularity)
                sizes.append(part.count / granularity)
                try part.arrive()
                time += .milliseconds(delay)
            }
            // With 64 KiB every 10 ms, twenty times 10, 200 and 1000 ms yield 1.25, 25 and 125 MiB.
            #expect(sizes == [16, 5, 32, 32])
            #expect(budget.take(upTo: 64 << 20) < 16 << 20, "the rest is in use")
        }
        #expect(budget.take(upTo: 1 << 20) == 1 << 20)
    }

    @Test("Without budget parts stay small, and other uploads continue")
    func noBudget() throws {
        let bytes = someBytes(1 << 20)
        var sizes: [Int] = []

        let sent = try sendParts(of: upload(bytes, budget: PartBudget(bytes: 0))) { sizes.append($0.count) }

        #expect(sent == bytes)
        #expect(sizes == [granularity, granularity, granularity, granularity])
    }

    @Test("Large parts are reserved until the upload ends, if as much is left for others")
    func reservation() throws {
        let budget = PartBudget(bytes: 20 << 20)
        let bytes = someBytes(600_000)
        do {
            let uploads = (0..<4).map { _ in upload(bytes, budget: budget) }
            #expect(uploads.map { $0.reserveMemory(partBytes: 5 << 20) } == [true, true, true, false])
            #expect(uploads[0].reserveMemory(partBytes: 5 << 20), "it has the memory already")
            let sent = try sendParts(of: uploads[0], granularity: 5 << 20)
            #expect(sent == bytes)
            #expect(!uploads[3].reserveMemory(partBytes: 5 << 20), "the others still hold their memory")
            #expect(uploads[3].reserveMemory(partBytes: granularity), "every upload has a small part")
        }
        #expect(upload(bytes, budget: budget).reserveMemory(partBytes: 10 << 20))
    }

    @Test("The next upload reuses the memory of an ended one, regardless of their sizes")
    func reuse() throws {
        let budget = PartBudget()
        for size in [1_000_000, 100, 600_000, 0, 1_500_000] {
            let bytes = RandomData.bytes(size)
            #expect(try sendParts(of: upload(bytes, budget: budget)) == bytes)
        }

        let kept = budget.takeBuffer()
        #expect(kept.count >= 1_000_000)
        #expect(budget.takeBuffer().isEmpty, "the uploads ran one after the other")
        for _ in 0..<6 { budget.keep([UInt8](repeating: 1, count: 3 << 20)) }
        var idle = 0
        while case let buffer = budget.takeBuffer(), !buffer.isEmpty { idle += buffer.count }
        #expect(idle == 15 << 20, "at most 16 MiB are kept")
    }

    @Test("A part that must exceed the remaining budget counts until it has been sent")
    func excess() throws {
        let budget = PartBudget(bytes: 8 << 20)
        do {
            let upload = upload(
                FakeConnection(zeros: 20 << 20), length: 20 << 20, checkSum: "00000000000000000000000000000000",
                budget: budget)
            #expect(try upload.nextPart(granularity: 10 << 20).count == 10 << 20)
            #expect(budget.take(upTo: 1 << 20) == 0)
        }
        #expect(budget.take(upTo: 1 << 20) == 1 << 20)
    }

    @Test("No upload takes more than a quarter of the remaining budget")
    func share() {
        let budget = PartBudget(bytes: 16 << 20)

        #expect(budget.take(upTo: 1 << 20) == 1 << 20)
        #expect(budget.take(upTo: 16 << 20) == 15 << 18)
        #expect(budget.take(upTo: -1) == 0)
    }

    @Test("Received bytes count as buffered until the next part is requested, and none do at the end")
    func held() throws {
        let held = Mutex(0)
        let budget = PartBudget(bytes: 0) { bytes in held.withLock { $0 += bytes } }
        var upload: PhoneUpload? = upload(someBytes(3 * granularity + 1), budget: budget)

        for size in [granularity, granularity, granularity, 1] {
            try upload?.nextPart(granularity: granularity).arrive()
            #expect(held.withLock { $0 } == size)
        }
        upload = nil
        #expect(held.withLock { $0 } == 0)
    }

    @Test("An aborted upload leaves nothing buffered")
    func heldByBrokenOff() throws {
        let held = Mutex(0)
        do {
            let upload = upload(
                FakeConnection(body: someBytes(9_000_000)), length: 20_000_000, checkSum: md5([]),
                budget: PartBudget { bytes in held.withLock { $0 += bytes } })
            #expect(throws: (any Error).self) { try sendParts(of: upload) }
            #expect(held.withLock { $0 } > 0)
            withExtendedLifetime(upload) {}
        }
        #expect(held.withLock { $0 } == 0)
    }

    // MARK: Content that must never be published

    /// Sends parts until an error occurs; the content's end must not be sent.
    private func breakOff(_ upload: PhoneUpload, of length: Int) throws {
        var sent = 0
        while true {
            let part = try upload.nextPart(granularity: granularity)
            do {
                sent += try part.body().collected().count
                guard sent < length else {
                    Issue.record("the end was sent")
                    return
                }
            } catch {
                throw try #require(part.body().failure)
            }
        }
    }

    @Test("With a wrong checksum the end is never sent", arguments: [10, 256 * 1024, 600_000, 9_000_000])
    func wrongCheckSum(length: Int) throws {
        let upload = upload(
            FakeConnection(body: someBytes(length)), length: Int64(length), checkSum: md5(someBytes(length + 1)))

        #expect(throws: Refusal(.checksumMismatch)) { try breakOff(upload, of: length) }
        #expect(upload.hashes == nil)
    }

    @Test("If the content ends early, its end is never sent", arguments: [0, 1, 16 * 1024, 299_999])
    func shortBody(arriving: Int) throws {
        let bytes = someBytes(300_000)
        let upload = upload(
            FakeConnection(body: Array(bytes.prefix(arriving))), length: 300_000, checkSum: md5(bytes))

        #expect(throws: Refusal(.bodyLengthMismatch)) { try breakOff(upload, of: 300_000) }
    }

    @Test(
        "If content continues after its announced end, the end is never sent", arguments: [0, 10, 256 * 1024])
    func surplus(length: Int) throws {
        let bytes = someBytes(length)
        let upload = upload(FakeConnection(body: bytes + [0]), length: Int64(length), checkSum: md5(bytes))

        #expect(throws: Refusal(.bodyLengthMismatch)) { try breakOff(upload, of: length) }
    }

    @Test("If the phone disconnects, even after its last byte, nothing is published")
    func hangsUp() throws {
        let bytes = someBytes(300_000)
        for arriving in [10, 270_000, 300_000] as [Int64] {
            let connection = FakeConnection(body: bytes)
            connection.hangsUpAfterBytes = arriving
            let upload = upload(connection, length: 300_000, checkSum: md5(bytes))
            #expect(throws: ClientGone.self) { try breakOff(upload, of: 300_000) }
        }
    }

    @Test("Before the end is sent, a callback runs, which may throw")
    func confirmation() throws {
        let bytes = someBytes(granularity + 1)
        let upload = upload(
            FakeConnection(body: bytes), length: Int64(bytes.count), checkSum: md5(bytes),
            beforeEnd: { throw Refusal(.uploadConflict) })

        #expect(throws: Refusal(.uploadConflict)) { try breakOff(upload, of: bytes.count) }
    }

    @Test("Progress is reported every few kilobytes, and an error thrown there ends the upload")
    func keepAlive() throws {
        struct LeaseLost: Error {}
        let bytes = someBytes(2_000_000)
        var calls = 0
        let upload = upload(
            FakeConnection(body: bytes), length: 2_000_000, checkSum: md5(bytes),
            keepAlive: {
                calls += 1
                if calls > 5 { throw LeaseLost() }
            })

        #expect(throws: LeaseLost.self) { try breakOff(upload, of: 2_000_000) }
        #expect(calls == 6)
    }
}
