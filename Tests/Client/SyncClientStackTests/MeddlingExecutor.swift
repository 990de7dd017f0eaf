import Foundation
import HTTPTypes
import SyncClient
import Synchronization

/// Sends requests with the platform's executor, counts them, and makes them fail on demand.
final class MeddlingExecutor: HTTPExecutor {
    /// The outcome of a request.
    enum Fate: Sendable {
        case passes
        /// There is no network: the request is not sent.
        case isNotSent
        /// The server processes the request, and the reply is lost.
        case losesReply
        /// The request is not sent, and the reply has this status.
        case fails(Int)
        /// The server is closed, with this message and this `Retry-After`.
        case isClosed(String, seconds: Int)
    }

    private struct State {
        var endpoints: [String] = []
        var fate: @Sendable (_ endpoint: String, _ number: Int) -> Fate = { _, _ in .passes }
        var hook: (@Sendable (String) async -> Void)?
        var lastTransfer: UnattendedTransfer?
        var sendsParts = false
    }

    private let executor = PlatformExecutor()
    private let state = Mutex(State())

    /// Whether files are sent in pieces, and small ones together; false unless a test sets it.
    var sendsParts: Bool {
        get { state.withLock { $0.sendsParts } }
        set { state.withLock { $0.sendsParts = newValue } }
    }

    /// The requested endpoints, in order.
    var endpoints: [String] { state.withLock { $0.endpoints } }

    func forget() { state.withLock { $0.endpoints = [] } }

    /// The number of requests to an endpoint.
    func count(_ endpoint: String) -> Int { endpoints.count { $0 == endpoint } }

    /// Sets the outcome of the following requests, by endpoint and by the endpoint's request number, from 1.
    func decide(_ fate: @escaping @Sendable (_ endpoint: String, _ number: Int) -> Fate) {
        state.withLock {
            $0.endpoints = []
            $0.fate = fate
        }
    }

    func pass() { decide { _, _ in .passes } }

    /// Sets a function that runs before each request is sent.
    func before(_ hook: (@Sendable (String) async -> Void)?) { state.withLock { $0.hook = hook } }

    /// The last transfer whose reply was lost, as a system with background transfers would report it.
    var lastTransfer: UnattendedTransfer? { state.withLock { $0.lastTransfer } }

    private func keep(_ exchange: HTTPExchange, _ reply: HTTPReply) {
        guard let label = exchange.label else { return }
        var transfer = UnattendedTransfer(label: label, result: .success(reply))
        if let destination = exchange.destination {
            let copy = FileManager.default.temporaryDirectory.appending(path: "kept-\(UUID().uuidString)")
            guard (try? FileManager.default.copyItem(at: destination, to: copy)) != nil else { return }
            transfer.file = copy
        }
        state.withLock { $0.lastTransfer = transfer }
    }

    func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(TransportFailure) -> HTTPReply {
        let path = exchange.request.path?.split(separator: "?").first ?? ""
        let endpoint = path.split(separator: "/").last.map(String.init) ?? ""
        let (fate, hook) = state.withLock { state in
            state.endpoints.append(endpoint)
            return (state.fate(endpoint, state.endpoints.count { $0 == endpoint }), state.hook)
        }
        await hook?(endpoint)
        switch fate {
        case .passes: return try await executor.execute(exchange, progress: progress)
        case .isNotSent: throw TransportFailure(.notConnected)
        case .losesReply:
            let reply = try await executor.execute(exchange, progress: progress)
            keep(exchange, reply)
            throw TransportFailure(.interrupted)
        case .fails(let status):
            // Without this version, the reply would not count as the server's.
            let response = HTTPResponse(status: .init(code: status), headerFields: [.serverVersion: "1000.0.0"])
            return HTTPReply(response: response, body: Data(), fileLength: nil)
        case .isClosed(let text, let seconds):
            let fields: HTTPFields = [.contentType: "text/plain", .retryAfter: String(seconds)]
            let response = HTTPResponse(status: .serviceUnavailable, headerFields: fields)
            return HTTPReply(response: response, body: Data(text.utf8), fileLength: nil)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let serverVersion = HTTPField.Name("syncserver-version")!
}
