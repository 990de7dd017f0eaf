import SyncModel
import TestSupport

/// The reason why a reply violates the protocol, regardless of the request.
struct ImpossibleReply: Error, CustomStringConvertible {
    let description: String
}

extension Reply {
    /// Reads a reply like a phone; nil if it does not reveal what the server did, because nginx lost the responder or
    /// the end is missing.
    /// - Throws: ``ImpossibleReply`` if a mandatory part of a reply is missing.
    init?(_ reply: HTTPReply, to call: PhoneCall) throws {
        let versions = reply.headers.filter { $0.name == "syncserver-version" }
        guard versions.count == 1 else { throw ImpossibleReply(description: "version header of \(reply)") }
        guard reply.isComplete else { return nil }
        if reply.status == 200 {
            guard let message = call.isTransfer ? reply.messageParameters : reply.json else {
                throw ImpossibleReply(description: "no message in \(reply)")
            }
            self = .success(Message(message), bytes: call.endpoint == "DownloadFile" ? reply.body : [])
            return
        }
        guard let code = reply.json?.code?.text, reply.json?.error?.text != nil,
            reply.values(of: "syncserver-error-code") == [code]
        else { throw ImpossibleReply(description: "no code in \(reply)") }
        if code == "server_unavailable" { return nil }
        self = .refused(Refusal(reply.status, code, gone: reply.json?.goneReason?.text))
    }
}

extension Message {
    init(_ value: JSONValue) {
        switch value {
        case .integer(let number): self = .integer(Int(number))
        case .string(let text): self = .text(text)
        case .bool(let flag): self = .flag(flag)
        case .array(let elements): self = .list(elements.map(Message.init))
        case .object(let members): self = .object(members.mapValues(Message.init))
        case .null, .number: self = .other
        }
    }
}
