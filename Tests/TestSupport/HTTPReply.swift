import Foundation

/// A complete HTTP reply as received, with header names in their original letter case.
public struct HTTPReply: Sendable, CustomStringConvertible {
    /// The status code.
    public var status: Int
    /// The headers in their order, names as sent.
    public var headers: [(name: String, value: String)]
    /// The body after transfer decoding; only the received part if `isComplete` is false.
    public var body: [UInt8]
    /// False if the connection ended before the announced end of the body.
    public var isComplete: Bool

    /// Creates a reply from its parts.
    public init(status: Int, headers: [(name: String, value: String)], body: [UInt8], isComplete: Bool) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isComplete = isComplete
    }

    /// All values of a header, regardless of its letter case.
    public func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The body as a JSON object; nil if it is not one.
    public var json: JSONValue? { Self.object(body) }

    /// The JSON object in the reply header of UploadFile and DownloadFile.
    ///
    /// Like deployed clients, looks up the exact lower-case name.
    public var messageParameters: JSONValue? {
        let values = headers.filter { $0.name == "syncserver-message-params" }.map(\.value)
        guard values.count == 1 else { return nil }
        return Self.object(Array(values[0].utf8))
    }

    /// The current master version in the reply to a stale request, from the header or the body.
    public var masterVersionUpdate: Int64? { (messageParameters ?? json)?.masterVersionUpdate?.integer }

    /// Status and the first part of the body, for a test's report.
    public var description: String {
        let text = String(decoding: body.prefix(400), as: UTF8.self)
        let parameters = values(of: "syncserver-message-params").joined().prefix(200)
        return "HTTP \(status)\(isComplete ? "" : " (cut short)") [\(body.count) bytes] \(parameters) \(text)"
    }

    /// The reply with the body that the client sees, if it is compressed with gzip.
    /// - Throws: ``CutShort`` if the compressed body is incomplete or damaged.
    public func decoded() throws -> HTTPReply {
        guard values(of: "content-encoding") == ["gzip"] else { return self }
        var reply = self
        reply.body = try Self.gunzipped(body)
        return reply
    }

    /// The text that `gzip -d` reads.
    public static func gunzipped(_ bytes: [UInt8]) throws -> [UInt8] {
        let folder = try ScratchFolder("gunzip")
        try Data(bytes).write(to: folder.url.appending(path: "body"))
        let command = try Command("/bin/sh", ["-c", "gzip -dc < '\(folder.path)/body'"])
        guard command.status == 0 else { throw CutShort() }
        return Array(command.output.utf8)
    }

    /// A compressed body is incomplete or damaged.
    public struct CutShort: Error {}

    private static func object(_ bytes: [UInt8]) -> JSONValue? {
        guard let value = JSONValue(bytes), case .object = value else { return nil }
        return value
    }
}

/// A reply that a helper did not expect.
public struct UnexpectedReply: Error, CustomStringConvertible {
    /// The attempted operation.
    public let attempt: String
    /// The unexpected reply.
    public let reply: HTTPReply

    /// Creates the error from an operation and its reply.
    public init(_ attempt: String, _ reply: HTTPReply) {
        self.attempt = attempt
        self.reply = reply
    }

    /// The operation and the reply, for a test's report.
    public var description: String { "\(attempt): \(reply)" }
}
