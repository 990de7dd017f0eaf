import Curl
import HTTPTypes

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
            self = .refused("TLS: the provider's certificate \(hasExpired ? "has expired" : "does not verify")")
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
