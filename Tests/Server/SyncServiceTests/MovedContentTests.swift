import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@testable import SyncService

@Suite("The bytes of a file being moved")
struct MovedContentTests {
    private struct Stopped: Error {}
    private static let windowBytes = 8_192

    private let server: TestServer
    private let storage: UserStorage
    /// More than two windows, and not a multiple of any size.
    private let bytes = someBytes(2 * Self.windowBytes + 1_234)

    init() throws {
        server = try TestServer()
        let userID = try server.userID(of: try server.signUp())
        let user = try #require(try server.store.withSession { try $0.user(userID) })
        storage = try server.services.storage.storage(
            of: user, transport: .unused, deadline: .after(.seconds(20)),
            logger: Logger(label: "test", factory: { [log = server.log] _ in log }))
        server.cloud.put("o", "name", bytes)
        var behaviour = FakeCloud.Behaviour()
        behaviour.announcesLength = true
        server.cloud.behaviour = behaviour
    }

    private func source(
        length: Int? = nil, bytesPerSecond: Int? = nil, pause: @escaping @Sendable (Duration) -> Void = { _ in },
        goesOn: @escaping () throws -> Void = {}
    ) -> MoveSource {
        MoveSource(
            storage: storage, objectID: "o", lengthBytes: Int64(length ?? bytes.count),
            bytesPerSecond: bytesPerSecond, pause: pause, goesOn: goesOn, windowBytes: Self.windowBytes)
    }

    private func content(_ source: MoveSource, hash: String? = nil, beforeEnd: @escaping () -> Void = {})
        -> MovedContent
    {
        MovedContent(
            source, to: .google, expecting: hash,
            provenBy: ContentIdentity(checkSum: CheckSum(md5(bytes)), sha256: []), beforeEnd: beforeEnd)
    }

    /// All of the content in parts, as a provider receives them.
    private func parts(_ content: MovedContent, granularity: Int) throws -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        while true {
            let part = try content.nextPart(granularity: granularity)
            parts.append(try part.whole())
            if part.isLast { return parts }
        }
    }

    @Test(
        "Parts have the size that the provider wants, and are read on demand, each byte once",
        arguments: [256, 5_000, 12_288])
    func inParts(granularity: Int) throws {
        var ends = 0
        let content = content(source()) { ends += 1 }

        let parts = try parts(content, granularity: granularity)

        #expect(parts.dropLast().allSatisfy { $0.count % granularity == 0 })
        #expect(parts.joined().elementsEqual(bytes))
        #expect(content.hashes?.checkSum == CheckSum(md5(bytes)) && ends == 1)
        #expect(server.cloud.requestedRanges.compactMap { $0?.count }.reduce(0, +) == bytes.count)
    }

    @Test("For a provider that receives everything in one request, the rest is read while it is sent")
    func inOneRequest() throws {
        let content = content(source(), hash: md5(bytes))

        let part = content.rest()
        #expect(part.isLast && part.count == bytes.count)
        guard case .arriving(let arriving, let start) = part.body() else {
            Issue.record("the bytes have already arrived")
            return
        }
        var sent: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1_000)
        while sent.count < bytes.count {
            var span = buffer.mutableSpan
            let count = try arriving.read(from: start + sent.count, into: &span)
            sent += buffer[..<count]
        }

        #expect(sent == bytes)
        #expect(content.hashes?.providerHash == md5(bytes))
    }

    @Test("Bytes that differ from the version's never form a complete object, because the last part is rejected")
    func changed() throws {
        var other = bytes
        other[17] ^= 1
        server.cloud.replace("o", by: other)
        var ends = 0
        let content = content(source()) { ends += 1 }

        #expect(throws: Refusal(.contentMismatch)) { try parts(content, granularity: 256) }
        #expect(ends == 0 && content.hashes == nil)
    }

    @Test("An object of another length is rejected before any of it is used", arguments: [-1, 1])
    func otherLength(difference: Int) throws {
        let source = source(length: bytes.count + difference)

        #expect(throws: Refusal(.contentMismatch)) { try source.window(at: 0) }
    }

    @Test("Failures in the former account are distinguished from those in the current one")
    func missing() throws {
        server.cloud.replace("o", by: nil)

        #expect {
            try source().window(at: 0)
        } throws: { error in
            guard let failure = error as? MoveSourceFailure, case .notFound = failure.cause else { return false }
            return MoveSetback(failure) == .fileFails(reason: "not found")
                && MoveSetback(failure.cause)
                    == .later(
                        reason: "present account: not found", after: nil, concernsFile: true)
        }
    }

    @Test("Reading ends at once when the move must stop")
    func stopped() throws {
        let source = source(goesOn: { throw Stopped() })

        #expect(throws: Stopped.self) { try source.window(at: 0) }
    }

    @Test("A window takes as long as its rate requires, in pauses that notice the end")
    func pace() throws {
        nonisolated(unsafe) var paused: [Duration] = []
        var checks = 0
        let small = someBytes(100_000)
        server.cloud.put("o", "name", small)
        // Ten seconds in total, compared with which the reading itself is short.
        let source = MoveSource(
            storage: storage, objectID: "o", lengthBytes: 100_000, bytesPerSecond: 10_000,
            pause: { unsafe paused.append($0) },
            goesOn: {
                checks += 1
                if checks > 30 { throw Stopped() }
            })

        // The pauses of this test take no time, so only the check ends the reading.
        #expect(throws: Stopped.self) { try source.window(at: 0) }
        #expect(unsafe !paused.isEmpty && paused.allSatisfy { $0 <= .seconds(1) && $0 > .zero })
    }

    @Test("The consequence of each failure for the move")
    func setbacks() {
        let former: [(CloudStorageError, MoveSetback)] = [
            (.authorizationRevoked, .moveFails(reason: "former account: authorization revoked")),
            (.serverNotAllowed, .moveFails(reason: "former account: server not allowed")),
            (.contentMismatch, .fileFails(reason: "other bytes")),
            (.rejected(code: "what the provider wrote"), .fileFails(reason: "rejected by the former account")),
            (
                .rateLimited(retryAfter: .seconds(7)),
                .later(reason: "former account: rate limited", after: .seconds(7))
            ),
            (.timedOut, .later(reason: "former account: timed out", after: nil, concernsFile: true)),
        ]
        for (cause, setback) in former { #expect(MoveSetback(MoveSourceFailure(cause: cause)) == setback, "\(cause)") }
        let present: [(any Error, MoveSetback?)] = [
            (
                CloudStorageError.quotaExceeded,
                .later(reason: "present account: quota exceeded", after: nil, needsPerson: true)
            ),
            (
                CloudStorageError.authorizationRevoked,
                .later(reason: "present account: authorization revoked", after: nil, needsPerson: true)
            ),
            (
                CloudStorageError.withheld(.circuitOpen(retryAfter: .seconds(9))),
                .later(reason: "present account: withheld", after: .seconds(9))
            ),
            (Refusal(.contentMismatch), .fileFails(reason: "other bytes")),
            (Refusal(.uploadConflict), .later(reason: "conflict", after: nil, concernsFile: true)),
            (AccountSwitched(), .later(reason: "conflict", after: nil, concernsFile: true)),
            (StoreError.busy, nil),
        ]
        for (error, setback) in present { #expect(MoveSetback(error) == setback, "\(error)") }
    }
}
