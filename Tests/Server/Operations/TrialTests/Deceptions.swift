import Foundation
import HTTPTransport
import HTTPTypes
import TestSupport

/// Faults of a provider: requests or replies changed between the sandbox and its caller.
final class Deceptions {
    /// What happens to one request.
    enum Deception {
        /// The request is sent unchanged.
        case none
        /// Another request is sent in its place.
        case asking(OutgoingRequest)
        /// The request is not sent, and this is the reply.
        case saying(Reply)
        /// The request is sent, and its reply, which is not streamed, is replaced.
        case turning((Reply) -> Reply)
        /// The connection fails.
        case silence
    }

    private let choose: (OutgoingRequest) -> Deception

    init(_ choose: @escaping (OutgoingRequest) -> Deception = { _ in .none }) { self.choose = choose }

    /// Every user who signs in is taken for the first one.
    static func acceptingAnybody() -> Deceptions {
        let first = Memory<OutgoingRequest?>(nil)
        return Deceptions { request in
            guard request.call.operation == .identity else { return .none }
            if let known = first.value { return .asking(known) }
            first.value = request
            return .none
        }
    }

    func around(_ transport: Transport) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                switch self.choose(request) {
                case .none: return try transport.send(request, by: deadline)
                case .asking(let other): return try transport.send(other, by: deadline)
                case .saying(let reply): return reply
                case .turning(let turn): return turn(try transport.send(request, by: deadline))
                case .silence: throw .notSent
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                switch self.choose(request) {
                case .none, .turning: return try transport.stream(request, by: deadline, head: head, body: body)
                case .asking(let other): return try transport.stream(other, by: deadline, head: head, body: body)
                case .saying(let reply):
                    if head(reply.head), !body(reply.body.span) { throw .cancelled }
                    return reply.head
                case .silence: throw .notSent
                }
            })
    }
}

extension Reply {
    /// The same reply with one text replaced.
    func replacing(_ text: String, with other: String) -> Reply {
        var reply = self
        reply.body = Array(String(decoding: body, as: UTF8.self).replacing(text, with: other).utf8)
        return reply
    }

    /// The same reply with another value for a member of its JSON.
    func replacing(member: String, by value: String) -> Reply {
        var reply = self
        let text = String(decoding: body, as: UTF8.self)
        reply.body = Array(
            text.replacingOccurrences(
                of: "\"\(member)\"\\s*:\\s*[^,}\\n]+", with: "\"\(member)\": \(value)", options: .regularExpression
            ).utf8)
        return reply
    }
}

extension OutgoingRequest {
    /// Whether the request renews a token that was really issued.
    var isRenewal: Bool { call.operation == .refresh && !bodyText.contains("invented") }

    func without(_ name: HTTPField.Name) -> OutgoingRequest {
        var request = self
        request.headers[name] = nil
        return request
    }
}
