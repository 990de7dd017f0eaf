public import Curl
import Synchronization

/// The libcurl handles of one process, lent for the length of one request to a provider.
///
/// The handle used last is lent first: its connection is the one most likely to be alive, so that with little traffic too
/// most requests need no new TLS handshake. And a thread that waits for a phone holds neither handle nor connection.
public final class CurlSenderPool: Sendable {
    /// Handles kept; those beyond are closed after use.
    private static let maximumIdle = 64

    private let routing: Routing
    private let idle = Mutex<[IdleSender]>([])

    /// A handle between two requests.
    ///
    /// `@unchecked Sendable`: exactly one thread takes it out of the pool, under its lock, and libcurl lets different
    /// threads use a handle one after the other (libcurl-thread(3)).
    private struct IdleSender: @unchecked Sendable {
        let sender: CurlSender
    }

    /// Connects to nothing yet.
    ///
    /// - Parameter routing: where connections go: to the hosts in the URLs, or to emulated providers.
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
        // The handle is fit for the next request whatever becomes of this one.
        defer {
            let returned = IdleSender(sender: sender)
            idle.withLock { if $0.count < Self.maximumIdle { $0.append(returned) } }
        }
        return try body(sender)
    }
}
