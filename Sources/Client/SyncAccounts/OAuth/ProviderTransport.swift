public import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests to providers; tests script it. Follows no redirects, keeps no cookies.
public struct ProviderTransport: Sendable {
    /// Maximum size of a reply, in bytes.
    static let maximumReply = 1 << 20

    /// A complete reply.
    public struct Reply: Sendable {
        public var status: Int
        public var body: Data

        public init(status: Int, body: Data) {
            self.status = status
            self.body = body
        }
    }

    /// Sends a request; throws any error if there is no reply.
    public var send: @Sendable (_ request: URLRequest) async throws -> Reply

    public init(send: @escaping @Sendable (_ request: URLRequest) async throws -> Reply) { self.send = send }

    /// A transport that uses `URLSession`.
    /// - Parameter timeout: for the whole request.
    public static func urlSession(timeout: Duration = .seconds(30)) -> ProviderTransport {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(timeout.components.seconds)
        configuration.timeoutIntervalForResource = TimeInterval(timeout.components.seconds)
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        let session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
        return ProviderTransport { request in
            let running = RunningTask()
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let task = session.dataTask(with: request) { body, response, error in
                        continuation.resume(with: Result { try reply(body, response, error) })
                    }
                    running.start(task)
                }
            } onCancel: {
                running.cancel()
            }
        }
    }

    private static func reply(_ body: Data?, _ response: URLResponse?, _ error: (any Error)?) throws -> Reply {
        if let error { throw error }
        guard let response = response as? HTTPURLResponse, let body, body.count <= maximumReply else {
            throw URLError(.badServerResponse)
        }
        return Reply(status: response.statusCode, body: body)
    }

    /// A task that may be cancelled while it ends.
    ///
    /// Not `URLSession.data(for:)`: on Linux (Swift 6.3) its cancellation waits for the session's queue while it holds
    /// the lock that the completion of the transfer, on that queue, needs to resume the caller: a deadlock.
    private final class RunningTask: Sendable {
        private struct State {
            var task: URLSessionDataTask?
            var isCancelled = false
        }

        private let state = Mutex(State())

        func start(_ task: URLSessionDataTask) {
            let isCancelled = state.withLock { state in
                state.task = task
                return state.isCancelled
            }
            task.resume()
            if isCancelled { task.cancel() }
        }

        /// Returns at once; the task is cancelled on a thread that holds no locks.
        func cancel() {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            DispatchQueue.global().async { task?.cancel() }
        }
    }

    /// A redirect would send tokens to another host.
    private final class NoRedirects: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }
}
