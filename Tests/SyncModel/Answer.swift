/// The bytes of a file version, with their checksums in the flavour of each storage.
package struct Content: Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    /// By the wire's word for the storage.
    package let checkSums: [String: String]

    /// Bytes and what the phones compute over them.
    package init(bytes: [UInt8], checkSums: [String: String]) {
        self.bytes = bytes
        self.checkSums = checkSums
    }

    package var description: String { "\(bytes.count) bytes" }
}

extension Content: Hashable {
    package static func == (left: Content, right: Content) -> Bool { left.bytes == right.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// What the server must answer.
package enum Answer: Equatable, Sendable, CustomStringConvertible {
    /// 200 with this message.
    case success(Template)
    /// 200 with this message and these bytes.
    case file(Content, Template)
    /// Any of these: where a request is wrong in several ways, the protocol does not always say which is told.
    case refused([Refusal])

    package var description: String {
        switch self {
        case .success(let template): "200 \(template)"
        case .file(let content, let template): "200 \(template) + \(content)"
        case .refused(let refusals): refusals.map(\.description).joined(separator: " or ")
        }
    }

    /// 200, and nothing to say.
    static let done = Answer.success(.object([:]))
    /// 200, but the client's master version is not the group's.
    static func stale(_ current: Int) -> Answer { .success(.object(["masterVersionUpdate": .integer(current)])) }
    /// Whether a stale client was told so.
    var isStale: Bool {
        if case .success(.object(let members)) = self { members["masterVersionUpdate"] != nil } else { false }
    }
    /// Whether the request was accepted.
    var isAcceptance: Bool {
        if case .refused = self { false } else { !isStale }
    }
}

/// What came back.
package enum Reply: Equatable, Sendable, CustomStringConvertible {
    /// 200; the bytes are those of DownloadFile.
    case success(Message, bytes: [UInt8] = [])
    /// An error.
    case refused(Refusal)

    package var description: String {
        switch self {
        case .success(let message, let bytes): "200 \(message)\(bytes.isEmpty ? "" : " + \(bytes.count) bytes")"
        case .refused(let refusal): "\(refusal)"
        }
    }
}

extension Answer {
    /// Compares; empty if `reply` is what had to come.
    func differences(from reply: Reply, _ lesson: inout Lesson) -> [String] {
        switch (self, reply) {
        case (.success(let template), .success(let message, _)):
            if !isStale, let current = message["masterVersionUpdate"] {
                return ["must not be stale, but says that the master version is \(current)"]
            }
            return template.differences(from: message, &lesson)
        case (.file(let content, let template), .success(let message, let bytes)):
            return (content.bytes == bytes ? [] : ["must bring \(content), brings \(bytes.count) others"])
                + template.differences(from: message, &lesson)
        case (.refused(let refusals), .refused(let refusal)) where refusals.contains(refusal): return []
        default: return ["must be \(self), is \(reply)"]
        }
    }
}
