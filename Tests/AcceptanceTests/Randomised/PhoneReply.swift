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
        try self.init(
            reply, message: call.isTransfer ? reply.messageParameters : reply.json,
            bytes: call.endpoint == "DownloadFile" ? reply.body : [])
    }

    private init?(_ reply: HTTPReply, message: JSONValue?, bytes: [UInt8]) throws {
        let versions = reply.headers.filter { $0.name == "syncserver-version" }
        guard versions.count == 1 else { throw ImpossibleReply(description: "version header of \(reply)") }
        guard reply.isComplete else { return nil }
        if reply.status == 200 {
            guard let message else { throw ImpossibleReply(description: "no message in \(reply)") }
            self = .success(Message(message), bytes: bytes)
            return
        }
        guard let code = reply.json?.code?.text, reply.json?.error?.text != nil,
            reply.values(of: "syncserver-error-code") == [code]
        else { throw ImpossibleReply(description: "no code in \(reply)") }
        if code == "server_unavailable" { return nil }
        self = .refused(Refusal(reply.status, code, gone: reply.json?.goneReason?.text))
    }

    /// Reads the reply to UploadSmallFiles: a reply for each file, as if UploadFile had given it.
    /// - Throws: ``ImpossibleReply``.
    static func ofSmallFiles(_ reply: HTTPReply, count: Int) throws -> [Reply?] {
        let whole = try Reply(reply, message: reply.json, bytes: [])
        guard case .success? = whole else { return Array(repeating: whole, count: count) }
        guard let results = reply.json?.results?.array, results.count == count else {
            throw ImpossibleReply(description: "not \(count) results in \(reply)")
        }
        return try results.map { result in
            if result.status?.integer == 200, let message = result.message {
                return .success(Message(message), bytes: [])
            }
            guard let status = result.status?.integer, let code = result.error?.code?.text else {
                throw ImpossibleReply(description: "no code in \(result)")
            }
            return .refused(Refusal(Int(status), code, gone: result.error?.goneReason?.text))
        }
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
