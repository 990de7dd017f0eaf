/// The bytes of a file version, with their checksum for each kind of storage.
package struct Content: Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    /// The checksums by the storage's name on the wire.
    package let checkSums: [String: String]

    /// Creates a content from bytes and the checksums that phones compute.
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

/// The reply that the server must send.
package enum Answer: Equatable, Sendable, CustomStringConvertible {
    /// 200 with this message.
    case success(Template)
    /// 200 with this message and these bytes.
    case file(Content, Template)
    /// Any of these errors: if a request has several mistakes, the protocol does not always specify which is reported.
    case refused([Refusal])

    package var description: String {
        switch self {
        case .success(let template): "200 \(template)"
        case .file(let content, let template): "200 \(template) + \(content)"
        case .refused(let refusals): refusals.map(\.description).joined(separator: " or ")
        }
    }

    /// 200 with an empty message.
    static let done = Answer.success(.object([:]))
    /// 200, but the client's master version is outdated.
    static func stale(_ current: Int) -> Answer { .success(.object(["masterVersionUpdate": .integer(current)])) }
    /// Whether the answer reports a stale master version.
    var isStale: Bool {
        if case .success(.object(let members)) = self { members["masterVersionUpdate"] != nil } else { false }
    }
    /// Whether the request was accepted.
    var isAcceptance: Bool {
        if case .refused = self { false } else { !isStale }
    }
}

/// The reply that the server sent.
package enum Reply: Equatable, Sendable, CustomStringConvertible {
    /// 200 with a message, and for DownloadFile the bytes.
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
    /// Compares the answer with `reply`; empty if they agree.
    func differences(from reply: Reply, _ lesson: inout Lesson) -> [String] {
        switch (self, reply) {
        case (.success(let template), .success(let message, _)):
            if !isStale, let current = message["masterVersionUpdate"] {
                return ["must not be stale, but reports master version \(current)"]
            }
            return template.differences(from: message, &lesson)
        case (.file(let content, let template), .success(let message, let bytes)):
            return (content.bytes == bytes ? [] : ["must contain \(content), but contains \(bytes.count) other bytes"])
                + template.differences(from: message, &lesson)
        case (.refused(let refusals), .refused(let refusal)) where refusals.contains(refusal): return []
        default: return ["must be \(self), but is \(reply)"]
        }
    }
}
