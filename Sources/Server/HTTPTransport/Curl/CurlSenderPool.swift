public import Curl
import Synchronization

/// The libcurl handles of one process, each leased for the duration of one request to a provider.
///
/// The most recently used handle is leased first: its connection is the most likely to be alive, so most requests need
/// no new TLS handshake even under light traffic. A thread that waits for a phone holds neither a handle nor a
/// connection.
public final class CurlSenderPool: Sendable {
    /// Idle handles kept for a destination; any beyond that are closed after use.
    private static let maximumIdle = 64

    /// The suffix of emulated hosts that people may name, if providers are emulated: nobody owns `.test` (RFC 6761,
    /// section 6.2). All other hosts are treated as in production.
    private static let emulatedHosts = ".sandbox.test"

    private let routing: Routing
    private let idle = Mutex<[OutgoingRequest.Destination: [IdleSender]]>([:])

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

    /// A transport that leases a handle for each request.
    public var transport: Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                try self.withSender(for: request) { sender throws(TransportError) in
                    try sender.send(request, by: deadline)
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                try self.withSender(for: request) { sender throws(TransportError) in
                    try sender.stream(request, by: deadline, head: head, body: body)
                }
            })
    }

    /// Each destination has separate handles: a connection opened for one is never used for another.
    private func withSender<Result>(
        for request: OutgoingRequest, _ body: (CurlSender) throws(TransportError) -> Result
    ) throws(TransportError) -> Result {
        let destination = isEmulated(request) ? .company : request.destination
        let sender: CurlSender
        if let lent = idle.withLock({ $0[destination]?.popLast() }) {
            sender = lent.sender
        } else {
            let routing = destination == .company ? routing : .direct
            do {
                sender = try CurlSender(routing: routing, destination: destination)
            } catch {
                throw TransportError(error)
            }
        }
        // The handle can serve the next request whatever the outcome of this one.
        defer {
            let returned = IdleSender(sender: sender)
            idle.withLock { idle in
                if idle[destination, default: []].count < Self.maximumIdle {
                    idle[destination, default: []].append(returned)
                }
            }
        }
        return try body(sender)
    }

    private func isEmulated(_ request: OutgoingRequest) -> Bool {
        routing.connectTo != nil && HTTPSAddress(request.url)?.host.hasSuffix(Self.emulatedHosts) == true
    }
}
