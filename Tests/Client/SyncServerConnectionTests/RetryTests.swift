import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Repeating requests")
struct RetryTests {
    @Test("A request that fails once is retried transparently")
    func once() async throws {
        let bench = Bench(.lost, .success(.reply(200, #"{"uploads":[]}"#)))

        let uploads = try await bench.connection.uploads(in: Sample.group)

        #expect(uploads.isEmpty)
        #expect(bench.recorder.pauses == [.seconds(1)])
        #expect(bench.executor.exchanges[0].request == bench.executor.exchanges[1].request)
    }

    @Test("After five attempts, the last error is the result")
    func fiveTimes() async {
        let bench = Bench(.success(.error(502, "cloud_unavailable", retryable: true)))

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }

        #expect(error?.code == .serverFailed)
        #expect(error?.status == 502)
        #expect(error?.serverCode?.rawValue == "cloud_unavailable")
        #expect(error?.requestID == "request-7")
        #expect(error?.isRetryable == true)
        #expect(error?.endpoint == .getUploads)
        #expect(bench.requestCount == 5)
        #expect(bench.recorder.pauses == [1, 2, 4, 8].map { .seconds($0) })
    }

    @Test("Retry-After is respected", arguments: ["17", "Fri, 01 May 2020 09:30:17 GMT"])
    func retryAfter(value: String) async throws {
        let bench = Bench(
            .success(.error(429, "busy", retryable: true, headers: ["Retry-After": value])),
            .success(.reply(200, #"{"uploads":[]}"#)))

        _ = try await bench.connection.uploads(in: Sample.group)

        #expect(bench.recorder.pauses == [.seconds(17)])
    }

    @Test("A repeated transfer of a file is reported; other repeated requests are not")
    func repeatedTransfer() async {
        let busy = Result<HTTPReply, TransportFailure>.success(.error(429, "too_many_transfers", retryable: true))
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let bench = Bench(busy, busy, .success(.error(409, "permission_too_low")))
        _ = await failure { () throws(ServerConnectionError) in
            try await bench.connection.downloadFile(Sample.download, to: file)
        }
        #expect(bench.recorder.events.filter { $0 == .transferRepeated }.count == 2)

        let other = Bench(busy, .success(.reply(200, #"{"uploads":[]}"#)))
        _ = try? await other.connection.uploads(in: Sample.group)
        #expect(other.requestCount == 2 && !other.recorder.events.contains(.transferRepeated))
    }

    @Test("An excessive delay is left to the caller")
    func longRetryAfter() async {
        let bench = Bench(.success(.error(429, "quota_group_rate", retryable: true, headers: ["Retry-After": "1800"])))

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }

        #expect(error?.code == .busy)
        #expect(error?.retryAfter == .seconds(1800))
        #expect(bench.requestCount == 1)
    }

    @Test(
        "An error that the server marks as final is not retried",
        arguments: [(409, "permission_too_low"), (500, "internal"), (507, "cloud_quota_exceeded")])
    func final(status: Int, code: String) async {
        let bench = Bench(.success(.error(status, code)))

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }

        #expect(error?.status == status)
        #expect(error?.serverCode?.rawValue == code)
        #expect(bench.requestCount == 1)
    }

    @Test("A code that the library does not know is kept as the server sent it")
    func newerServer() async {
        let bench = Bench(.success(.error(409, "of_tomorrow")))

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }

        #expect(error?.code == .refused)
        #expect(error?.serverCode == .unknown("of_tomorrow"))
    }

    @Test(
        "Without such a mark, the server's failures are retried, and its rejections are not",
        arguments: [(500, 5), (404, 1), (400, 1)])
    func older(status: Int, count: Int) async {
        let bench = Bench(.success(.reply(status, #"{"error":"Failed"}"#)))

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }

        #expect(error?.status == status)
        #expect(error?.detail == "Failed")
        #expect(error?.serverCode == nil)
        #expect(bench.requestCount == count)
    }

    @Test("A request with an unreadable reply is repeated, and finally fails")
    func unreadable() async {
        for body in ["", "<html>", "[]", #"{"uploads":7}"#] {
            let bench = Bench(.success(.reply(200, body)))
            let error = await failure { () throws(ServerConnectionError) in
                try await bench.connection.uploads(in: Sample.group)
            }
            #expect(error?.code == .invalidReply, "\(body)")
            #expect(bench.requestCount == 5)
        }
    }

    @Test("A commit without an id is not sent twice if it may have been processed")
    func commitWithoutID() async {
        let bench = Bench(.success(Bench.index), .lost)
        _ = try? await bench.connection.index(IndexRequest())

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.doneUploads(Sample.commitWithoutID)
        }

        #expect(error?.code == .connectionLost)
        #expect(bench.requestCount == 2)
    }

    @Test("A commit with an id is repeated with the same id, if the server has shown its extensions")
    func commitWithID() async throws {
        let bench = Bench(
            .success(Bench.index), .lost, .success(.reply(200, #"{"numberUploadsTransferred":3}"#)))
        _ = try await bench.connection.index(IndexRequest())

        let outcome = try await bench.connection.doneUploads(Sample.commitWithID)

        #expect(outcome == .success(3))
        #expect(bench.executor.exchanges[1].request.path == bench.executor.exchanges[2].request.path)
        #expect(bench.executor.exchanges[1].request.path?.contains("commitId=\(Sample.commit)") == true)
    }

    @Test("To a server without extensions, even a commit with an id is sent once")
    func commitToOlderServer() async {
        let bench = Bench(.success(.reply(200, #"{"sharingGroups":[]}"#)), .lost)
        _ = try? await bench.connection.index(IndexRequest())
        #expect(await bench.connection.extensions == .absent)

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.doneUploads(Sample.commitWithID)
        }

        #expect(error?.code == .connectionLost)
        #expect(bench.requestCount == 2)
    }

    @Test("Requests that never left the device are repeated, including commits and creations")
    func offline() async throws {
        let bench = Bench(.offline, .offline, .success(.reply()))
        try await bench.connection.createSharingGroup(CreateSharingGroupRequest(sharingGroupUUID: Sample.group))
        #expect(bench.requestCount == 3)
    }

    @Test("Changes to a group are not sent twice, with or without extensions")
    func groupChange() async {
        let bench = Bench(.success(Bench.index), .lost)
        _ = try? await bench.connection.index(IndexRequest())
        let request = RemoveUserFromSharingGroupRequest(sharingGroupUUID: Sample.group, masterVersion: Sample.version)

        let error = await failure { () throws(ServerConnectionError) in
            _ = try await bench.connection.removeUserFromSharingGroup(request)
        }

        #expect(error?.code == .connectionLost)
        #expect(bench.requestCount == 2)
    }

    @Test("The delay of a commit is extended by five seconds for each deletion")
    func commitTimeout() async throws {
        let bench = Bench(.success(.reply(200, #"{"numberUploadsTransferred":3}"#)))
        _ = try await bench.connection.doneUploads(Sample.commitWithID, deletions: 3)
        #expect(bench.executor.exchanges[0].idleTimeout == .seconds(75))
    }

    @Test("A task cancelled during the delay sends nothing more")
    func cancelled() async {
        let bench = Bench(ScriptedExecutor([.lost]), onPause: { throw CancellationError() })

        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }

        #expect(error?.code == .cancelled)
        #expect(bench.requestCount == 1)
    }

    @Test("A request that times out is repeated once; those after it are not until the server replies again")
    func silence() async throws {
        let silent = Result<HTTPReply, TransportFailure>.failure(TransportFailure(.timedOut))
        let reply = Result<HTTPReply, TransportFailure>.success(.reply(200, #"{"uploads":[]}"#))
        let bench = Bench(silent, silent, silent, silent, .lost, silent, reply, silent, reply)
        func ask() async -> ServerConnectionError.Code? {
            await failure { () throws(ServerConnectionError) in
                try await bench.connection.uploads(in: Sample.group)
            }?.code
        }

        #expect(await ask() == .timedOut)
        #expect(bench.requestCount == 2)
        #expect(await ask() == .timedOut)
        #expect(bench.requestCount == 3)
        #expect(await ask() == .timedOut)
        #expect(bench.requestCount == 4)
        // A lost connection does not count as a timeout.
        #expect(await ask() == .timedOut)
        #expect(bench.requestCount == 6)
        #expect(await ask() == nil)
        #expect(await ask() == nil)
        #expect(bench.requestCount == 9)
    }

    @Test("Simultaneous requests that time out are each repeated")
    func concurrentSilence() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let executor = ScriptedExecutor { _, n throws(TransportFailure) in
            guard n < 4 else { return .reply(200, #"{"uploads":[]}"#) }
            if n == 3 { for _ in 0..<4 { arrived.yield() } }
            for await _ in arrivals { break }
            throw TransportFailure(.timedOut)
        }
        let connection = Bench(executor).connection
        let succeeded = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask { (try? await connection.uploads(in: Sample.group)) != nil }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(succeeded == [true, true, true, true])
    }

    @Test("Each transport failure has its code", arguments: TransportFailure.Kind.allCases)
    func failures(kind: TransportFailure.Kind) async {
        let bench = Bench(.failure(TransportFailure(kind)))
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }
        let (code, count): (ServerConnectionError.Code, Int) =
            switch kind {
            case .notConnected: (.notConnected, 5)
            case .interrupted: (.connectionLost, 5)
            case .timedOut: (.timedOut, 2)
            case .malformed: (.invalidReply, 5)
            case .cancelled: (.cancelled, 1)
            case .untrusted: (.untrustedServer, 1)
            case .fileUnreadable: (.fileUnreadable, 1)
            case .fileUnwritable: (.fileUnwritable, 1)
            }
        #expect(error?.code == code)
        #expect(bench.requestCount == count)
    }
}
