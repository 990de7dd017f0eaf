public import HTTPTransport
public import HTTPTypes
import Synchronization

/// A provider whose replies the test defines; no bytes leave the process.
///
/// Records every request in order.
public final class ScriptedTransport: Sendable {
    /// Answers one request.
    public typealias Script = @Sendable (OutgoingRequest) throws(TransportError) -> Reply

    private let script: Script
    private let recorded = Mutex<[OutgoingRequest]>([])

    /// Answers each request with the result or error of `script`.
    public init(_ script: @escaping Script) { self.script = script }

    /// Answers the requests in order with `replies`; an additional request is interrupted.
    public convenience init(replies: [Reply]) {
        let rest = Mutex(replies[...])
        self.init { _ throws(TransportError) in
            guard let reply = rest.withLock({ $0.popFirst() }) else { throw .interrupted }
            return reply
        }
    }

    /// The requests so far.
    public var requests: [OutgoingRequest] { recorded.withLock { $0 } }

    /// The purposes of the requests so far.
    public var calls: [ProviderCall] { requests.map(\.call) }

    /// The transport for the code under test. Like the real one, it sends nothing after the deadline.
    public var transport: Transport {
        Transport(
            send: { request, deadline throws(TransportError) in try self.answer(request, deadline) },
            stream: { request, deadline, head, body throws(TransportError) in
                let reply = try self.answer(request, deadline)
                guard head(reply.head) else { return reply.head }
                guard reply.body.isEmpty || body(reply.body.span) else { throw .cancelled }
                // A body shorter than announced ends like a lost connection.
                if let announced = reply.head.headers[.contentLength].flatMap({ Int($0) }), announced > reply.body.count
                {
                    throw .interrupted
                }
                return reply.head
            })
    }

    private func answer(_ request: OutgoingRequest, _ deadline: Deadline) throws(TransportError) -> Reply {
        guard !deadline.hasPassed else { throw .notSent }
        var request = request
        request.body = try request.body.map { body throws(TransportError) in .bytes(try body.collected()[...]) }
        recorded.withLock { $0.append(request) }
        return try script(request)
    }
}

extension Reply {
    /// Creates a reply with a text as its body.
    public init(_ status: Int, _ body: String = "", headers: HTTPFields = [:]) {
        self.init(head: ReplyHead(status: status, headers: headers), body: Array(body.utf8))
    }
}

extension OutgoingRequest {
    /// The body as text; empty if there is none.
    public var bodyText: String { String(decoding: body?.bytes ?? [], as: UTF8.self) }
}

extension OutgoingBody {
    /// All bytes that a transport would send.
    /// - Throws: ``TransportError/cancelled`` if they do not arrive.
    public func collected() throws(TransportError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return Array(bytes)
        case .arriving(let source, let start):
            var collected: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 10_000)
            while collected.count < count {
                var span = buffer.mutableSpan
                let read: Int
                do { read = try source.read(from: start + collected.count, into: &span) } catch { throw .cancelled }
                collected += buffer.prefix(read)
            }
            return collected
        }
    }
}
