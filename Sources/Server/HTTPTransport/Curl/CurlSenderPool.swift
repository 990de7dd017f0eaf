public import Curl
import Synchronization

/// The libcurl handles of one process, each leased for the duration of one request to a provider.
///
/// The most recently used handle is leased first: its connection is the most likely to be alive, so most requests need
/// no new TLS handshake even under light traffic. A thread that waits for a phone holds neither a handle nor a
/// connection.
public final class CurlSenderPool: Sendable {
    /// Idle handles kept; any beyond that are closed after use.
    private static let maximumIdle = 64

    private let routing: Routing
    private let idle = Mutex<[IdleSender]>([])

    /// A handle between two requests.
    ///
    /// `@unchecked Sendable`: exactly one thread takes it out of the pool, under the pool's lock, and libcurl lets
    /// different threads use a handle one after the other (libcurl-thread(3)).
    private struct IdleSender: @unchecked Sendable {
        let sender: CurlSender
    }

    /// Does not connect yet.
    ///
    /// - Parameter routing: where to connect: to the hosts in the URLs, or to emulated providers.
    public init(routing: Routing = .direct) {
        self.routing = routing
    }

    /// A transport that takes a handle for each request.
    public var transport: Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                try self.withSender { sender throws(TransportError) in try sender.send(request, by: deadline) }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                try self.withSender { sender throws(TransportError) in
                    try sender.stream(request, by: deadline, head: head, body: body)
                }
            })
    }

    private func withSender<Result>(
        _ body: (CurlSender) throws(TransportError) -> Result
    ) throws(TransportError) -> Result {
        let sender: CurlSender
        if let lent = idle.withLock({ $0.popLast() }) {
            sender = lent.sender
        } else {
            do { sender = try CurlSender(routing: routing) } catch { throw TransportError(error) }
        }
        // The handle can serve the next request whatever the outcome of this one.
        defer {
            let returned = IdleSender(sender: sender)
            idle.withLock { if $0.count < Self.maximumIdle { $0.append(returned) } }
        }
        return try body(sender)
    }
}
