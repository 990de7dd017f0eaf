public import Curl
public import HTTPTransport
import HTTPTypes

/// Sends a thread's requests to providers through libcurl, keeping connections alive between them.
///
/// Belongs to one thread, as the handle inside does.
public final class CurlSender {
    private static let connectTimeout: Duration = .seconds(10)
    private var handle: EasyHandle

    /// Connects to nothing yet.
    ///
    /// - Parameter routing: where connections go: to the hosts in the URLs, or to emulated providers.
    /// - Throws: ``CurlError/outOfMemory``.
    public init(routing: Routing = .direct) throws(CurlError) {
        handle = try EasyHandle(routing: routing)
    }

    /// A transport for the thread that owns this object, and for as long as it lives.
    public var transport: Transport {
        Transport(
            send: { request, deadline throws(TransportError) in try self.send(request, by: deadline) },
            stream: { request, deadline, head, body throws(TransportError) in
                try self.stream(request, by: deadline, head: head, body: body)
            })
    }

    private func send(_ outgoing: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Reply {
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

    private func stream(
        _ outgoing: OutgoingRequest, by deadline: Deadline, head: (ReplyHead) -> Bool, body: (Span<UInt8>) -> Bool
    ) throws(TransportError) -> ReplyHead {
        var request = try request(outgoing, deadline)
        // No limit for the whole, since bodies may be long; but it must keep flowing.
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
            body: outgoing.body.map { .bytes($0) } ?? .none)
        request.usesFreshConnection = !outgoing.isRepeatable
        request.connectTimeout = min(Self.connectTimeout, deadline.remaining)
        return request
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
        case .tls: self = .refused("TLS: the provider's certificate does not verify")
        case .interrupted, .partial: self = .interrupted
        case .timedOut, .tooSlow: self = .timedOut
        case .responseTooLarge: self = .replyTooLarge
        case .cancelled: self = .cancelled
        case .invalidRequest(let reason): self = .refused("request: \(reason)")
        case .outOfMemory: self = .notSent
        }
    }
}
