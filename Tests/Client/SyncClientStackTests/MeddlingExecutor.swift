import Foundation
import HTTPTypes
import SyncClient
import Synchronization

/// Sends requests with the platform's executor, counts them, and lets them fail if it is told to.
final class MeddlingExecutor: HTTPExecutor {
    /// What becomes of a request.
    enum Fate: Sendable {
        case passes
        /// There is no network.
        case isNotSent
        /// The server carries it out, and the reply gets lost.
        case losesReply
        /// The reply has this status instead.
        case fails(Int)
        /// The server is closed, says this, and how many seconds that lasts.
        case isClosed(String, seconds: Int)
    }

    private struct State {
        var endpoints: [String] = []
        var fate: @Sendable (_ endpoint: String, _ number: Int) -> Fate = { _, _ in .passes }
        var hook: (@Sendable (String) async -> Void)?
        var lastTransfer: UnattendedTransfer?
    }

    private let executor = PlatformExecutor()
    private let state = Mutex(State())

    /// The endpoints that were asked, in order.
    var endpoints: [String] { state.withLock { $0.endpoints } }

    func forget() { state.withLock { $0.endpoints = [] } }

    /// How often an endpoint was asked.
    func count(_ endpoint: String) -> Int { endpoints.count { $0 == endpoint } }

    /// Decides about the requests from now on, by endpoint and by how often it was asked, from 1.
    func decide(_ fate: @escaping @Sendable (_ endpoint: String, _ number: Int) -> Fate) {
        state.withLock {
            $0.endpoints = []
            $0.fate = fate
        }
    }

    func pass() { decide { _, _ in .passes } }

    /// Lets something happen before each request is sent.
    func before(_ hook: (@Sendable (String) async -> Void)?) { state.withLock { $0.hook = hook } }

    /// The last transfer whose reply got lost, as a system would tell of it that keeps transfers.
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
            // Without a version it would not be the server's.
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
