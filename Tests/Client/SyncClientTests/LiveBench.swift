import Foundation
import HTTPTypes
import SyncClient
import Synchronization

/// A client whose streams of signals a test controls; all other requests succeed.
struct LiveBench: Sendable {
    let client: SyncServer
    let executor: LiveExecutor
    let credentials = LiveCredentials()
    let clock: LiveClock

    /// - Parameter isPausing: Whether pauses last until the test ends them; otherwise those before a renewal never end,
    ///   and others have no length.
    init(isPausing: Bool = true, _ configure: (inout SyncServer.Configuration) -> Void = { _ in }) throws {
        let (executor, clock) = (LiveExecutor(), LiveClock(isPausing: isPausing))
        (self.executor, self.clock) = (executor, clock)
        var environment = SyncEnvironment.system
        environment.sleep = { try await clock.sleep($0) }
        var configuration = SyncServer.Configuration(
            serverURL: URL(string: "https://sync.example.com")!,
            storeFolder: FileManager.default.temporaryDirectory.appending(path: "live-\(UUID().uuidString)"))
        configure(&configuration)
        client = try SyncServer(
            configuration, credentials, nil, environment, executor: executor,
            connectionEnvironment: ConnectionEnvironment(sleep: { _ in }, randomFraction: { 0 }, now: { Date() }))
    }

    /// The next connection for signals.
    func connection() async -> LiveConnection { await executor.connections.next() }

    /// Waits until Index was requested so many times.
    func indexes(_ count: Int) async {
        while executor.indexes < count { await Task.yield() }
    }
}

/// The elements of a stream, for one reader at a time.
final class ElementQueue<Element: Sendable>: Sendable {
    private let state = Mutex((elements: [Element](), waiting: [CheckedContinuation<Element, Never>]()))

    func add(_ element: Element) {
        let waiting: CheckedContinuation<Element, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.elements.append(element)
            return nil
        }
        waiting?.resume(returning: element)
    }

    func next() async -> Element {
        await withCheckedContinuation { continuation in
            let element: Element? = state.withLock { state in
                guard state.elements.isEmpty else { return state.elements.removeFirst() }
                state.waiting.append(continuation)
                return nil
            }
            if let element { continuation.resume(returning: element) }
        }
    }
}

/// Something that waits until a test or a cancellation ends it.
final class Waiting<Value: Sendable>: Sendable {
    private let state = Mutex((value: Value?.none, waiting: CheckedContinuation<Value, Never>?.none))

    func end(_ value: Value) {
        let waiting = state.withLock { state in
            if state.value == nil { state.value = value }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: value)
    }

    func value(ifCancelled: Value) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state in
                    if state.value == nil { state.waiting = continuation }
                    return state.value
                }
                if let value { continuation.resume(returning: value) }
            }
        } onCancel: {
            end(ifCancelled)
        }
    }
}

/// A request for signals, as the server sees it.
final class LiveConnection: Sendable {
    private let exchange: HTTPExchange
    private let result = Waiting<Result<HTTPReply, TransportFailure>>()
    private let cancellation = Waiting<Bool>()

    init(_ exchange: HTTPExchange) { self.exchange = exchange }

    private func header(_ name: String) -> String? { exchange.request.headerFields[HTTPField.Name(name)!] }
    var known: String? { header("last-event-id") }
    var token: String? { header("access-token") }
    /// Waits until the client has ended the request.
    var isCancelled: Bool { get async { await cancellation.value(ifCancelled: false) } }

    func send(_ text: String) { exchange.arriving?(Data(text.utf8)) }
    func end() { reply(200, nil, [:]) }
    func fail(_ kind: TransportFailure.Kind) { result.end(.failure(TransportFailure(kind))) }

    func reply(_ status: Int, _ code: String?, _ headers: [String: String]) {
        var fields: HTTPFields = [HTTPField.Name("syncserver-version")!: "1.0.0"]
        for (name, value) in headers { fields[HTTPField.Name(name)!] = value }
        fields[HTTPField.Name("syncserver-error-code")!] = code
        let body = code.map { #"{"error":"Text","code":"\#($0)","requestId":"r","retryable":false}"# } ?? ""
        result.end(
            .success(
                HTTPReply(
                    response: HTTPResponse(status: .init(code: status), headerFields: fields), body: Data(body.utf8))))
    }

    func reply() async throws(TransportFailure) -> HTTPReply {
        let result = await result.value(ifCancelled: .failure(TransportFailure(.cancelled)))
        if case .failure(let failure) = result, failure.kind == .cancelled { cancellation.end(true) }
        return try result.get()
    }
}

final class LiveExecutor: HTTPExecutor {
    let connections = ElementQueue<LiveConnection>()
    private let counts = Mutex((all: 0, indexes: 0))

    /// The number of requests.
    var count: Int { counts.withLock { $0.all } }
    var indexes: Int { counts.withLock { $0.indexes } }
    var streamsReplies: Bool { true }

    func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(TransportFailure) -> HTTPReply {
        let isIndex = exchange.request.path?.contains("Index") == true
        counts.withLock { counts in
            counts.all += 1
            if isIndex { counts.indexes += 1 }
        }
        if exchange.arriving != nil {
            let connection = LiveConnection(exchange)
            connections.add(connection)
            return try await connection.reply()
        }
        let fields: HTTPFields = [
            HTTPField.Name("syncserver-version")!: "1.0.0", .eTag: "\"1\"",
            HTTPField.Name("syncserver-message-params")!: "{}",
        ]
        return HTTPReply(
            response: HTTPResponse(status: .ok, headerFields: fields),
            body: Data((isIndex ? #"{"sharingGroups":[]}"# : "{}").utf8))
    }
}

final class LiveCredentials: CredentialProvider {
    private let token = Mutex<String?>("token")

    func set(_ token: String?) { self.token.withLock { $0 = token } }
    func credentials() async -> Credentials? {
        token.withLock { $0.map { Credentials(accountType: .google, accessToken: Secret($0)) } }
    }
    func refresh(_ refused: Credentials) async throws -> Credentials { throw CredentialRefreshFailure.unreachable }
}

/// Pauses that a test ends.
final class LiveClock: Sendable {
    final class Pause: Sendable {
        let duration: Duration
        fileprivate let waiting = Waiting<Bool>()
        fileprivate init(_ duration: Duration) { self.duration = duration }
        func end() { waiting.end(true) }
    }

    private let isPausing: Bool
    private let queue = ElementQueue<Pause>()
    private let all = Mutex<[Duration]>([])

    init(isPausing: Bool) { self.isPausing = isPausing }

    /// All pauses so far.
    var pauses: [Duration] { all.withLock { $0 } }

    /// The next pause that has begun.
    func next() async -> Pause { await queue.next() }

    /// The next pause of a certain length.
    func pause(of duration: Duration) async throws -> Pause {
        while true {
            let pause = await next()
            if pause.duration == duration { return pause }
        }
    }

    func sleep(_ duration: Duration) async throws {
        all.withLock { $0.append(duration) }
        guard isPausing || duration >= .seconds(60) else { return try Task.checkCancellation() }
        let pause = Pause(duration)
        queue.add(pause)
        guard await pause.waiting.value(ifCancelled: false) else { throw CancellationError() }
    }
}
