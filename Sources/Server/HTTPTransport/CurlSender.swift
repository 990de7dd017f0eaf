public import Curl
import HTTPTypes
import Synchronization

/// Sends requests to providers through one libcurl handle, keeping connections alive between them.
///
/// Used by one thread at a time, as the handle requires.
final class CurlSender {
    private static let connectTimeout: Duration = .seconds(10)
    /// The upload buffer for arriving bodies.
    private static let smallestUploadBuffer = 64 * 1024
    private static let largestUploadBuffer = 512 * 1024
    private var handle: EasyHandle
    private let reach: Request.Reach

    /// Does not connect yet.
    ///
    /// - Parameters:
    ///   - routing: where to connect: to the hosts in the URLs, or to emulated providers.
    ///   - destination: the destination of all its requests, since they share connections.
    /// - Throws: ``CurlError/outOfMemory``.
    init(
        routing: Routing = .direct, destination: OutgoingRequest.Destination = .company
    ) throws(CurlError) {
        handle = try EasyHandle(routing: routing, allowsPlainHTTP: destination == .listed)
        reach = destination == .named ? .publicAddresses : .anywhere
    }

    /// Sends a request and returns the whole reply.
    func send(_ outgoing: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Reply {
        var request = try request(outgoing, deadline)
        request.totalTimeout = deadline.remaining
        request.responseBodyLimit = outgoing.replyLimitBytes
        do {
            let response = try handle.perform(request)
            return Reply(head: Self.head(response.head), body: response.body)
        } catch {
            throw TransportError(error)
        }
    }

    /// Sends a request and passes on the reply as it arrives.
    func stream(
        _ outgoing: OutgoingRequest, by deadline: Deadline, head: (ReplyHead) -> Bool, body: (Span<UInt8>) -> Bool
    ) throws(TransportError) -> ReplyHead {
        var request = try request(outgoing, deadline)
        // No total timeout, since bodies may be long; but data must keep flowing.
        request.totalTimeout = nil
        request.lowSpeedTime = max(.seconds(1), deadline.remaining)
        var received: ReplyHead?
        var isBodyWanted = true
        do {
            try handle.perform(
                request,
                onHead: { response in
                    let replyHead = Self.head(response)
                    received = replyHead
                    isBodyWanted = head(replyHead)
                    return isBodyWanted
                }, onBody: body)
        } catch {
            if case .cancelled = error, let received, !isBodyWanted { return received }
            throw TransportError(error)
        }
        guard let received else { throw .interrupted }
        return received
    }

    private func request(_ outgoing: OutgoingRequest, _ deadline: Deadline) throws(TransportError) -> Request {
        guard !deadline.hasPassed else { throw .notSent }
        var request = Request(
            method: outgoing.method.rawValue, url: outgoing.url,
            headers: outgoing.headers.map { (name: $0.name.rawName, value: $0.value) },
            body: Self.body(outgoing.body, deadline))
        // A handle that has sent one large part would otherwise keep a large buffer forever.
        request.uploadBufferBytes = Self.smallestUploadBuffer
        if case .bytes(let bytes) = outgoing.body {
            request.uploadBufferBytes = min(Self.largestUploadBuffer, max(Self.smallestUploadBuffer, bytes.count))
        }
        request.usesFreshConnection = !outgoing.isRepeatable
        if outgoing.requiresHTTP2 { request.httpVersion = .http2Only }
        request.reach = reach
        request.connectTimeout = min(Self.connectTimeout, deadline.remaining)
        return request
    }

    private static func body(_ body: OutgoingBody?, _ deadline: Deadline) -> Request.Body {
        switch body {
        case nil: .none
        case .bytes(let bytes): .bytes(bytes)
        case .arriving(let bytes, let start):
            .arriving(
                ArrivingBody(lengthBytes: bytes.count - start, patience: deadline.remaining) { position, buffer in
                    try? bytes.read(from: start + position, into: &buffer)
                })
        }
    }

    private static func head(_ head: ResponseHead) -> ReplyHead {
        var fields = HTTPFields()
        for (name, value) in head.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return ReplyHead(status: head.status, headers: fields)
    }
}

extension TransportError {
    init(_ error: CurlError) {
        switch error {
        case .notSent: self = .notSent
        case .forbiddenAddress: self = .forbiddenAddress
        case .tls(_, let message):
            // OpenSSL's words for X509_V_ERR_CERT_HAS_EXPIRED, x509_verify_cert_error_string(3).
            let hasExpired = message.contains("certificate has expired")
            self = .refused("TLS: the provider's certificate \(hasExpired ? "has expired" : "cannot be verified")")
        case .interrupted, .partial: self = .interrupted
        case .timedOut, .tooSlow: self = .timedOut
        case .responseTooLarge: self = .replyTooLarge
        case .otherHTTPVersion: self = .refused("the server does not speak HTTP/2")
        case .cancelled: self = .cancelled
        case .invalidRequest(let reason): self = .refused("request: \(reason)")
        case .outOfMemory: self = .notSent
        }
    }
}

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
    /// different threads use a handle one after another (libcurl-thread(3)).
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
