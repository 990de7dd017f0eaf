/// Status and header fields of a response.
public struct ResponseHead: Sendable {
    /// The final status code, never a 1xx.
    public let status: Int
    /// Header fields in the order and spelling received, including repeated ones.
    public let headers: [(name: String, value: String)]

    /// The first value of the header field `name`, case-insensitively; nil if it is absent.
    public func value(of name: String) -> String? { headers.value(of: name) }

    /// All values of the header field `name`, case-insensitively.
    public func values(of name: String) -> [String] {
        headers.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
    }
}

/// A complete response.
public struct Response: Sendable {
    /// Status and header fields.
    public let head: ResponseHead
    /// The body, complete as announced.
    public let body: [UInt8]

    /// The final status code, never a 1xx.
    public var status: Int { head.status }
    /// Header fields in the order and spelling received, including repeated ones.
    public var headers: [(name: String, value: String)] { head.headers }
    /// The first value of the header field `name`, case-insensitively; nil if it is absent.
    public func value(of name: String) -> String? { head.value(of: name) }
}

extension [(name: String, value: String)] {
    fileprivate func value(of name: String) -> String? { first { $0.name.isEqualIgnoringCase(to: name) }?.value }
}

extension String {
    /// Whether the texts are equal, ignoring the case of ASCII letters.
    fileprivate func isEqualIgnoringCase(to other: String) -> Bool {
        utf8.elementsEqual(other.utf8) { left, right in
            left == right || (left | 0x20 == right | 0x20 && (0x61...0x7A).contains(left | 0x20))
        }
    }
}

/// Receives the data of libcurl's callbacks, for the duration of one transfer.
///
/// Lives on the stack of `perform`, inside one `withUnsafeMutablePointer`; records failures, because a Swift error must
/// not be thrown through C.
struct ResponseReceiver {
    /// Maximum total size of the header lines of one response, in bytes.
    static let headerLimitBytes = 256 * 1024

    /// Whether a response in another version ends the transfer.
    let requiresHTTP2: Bool
    let onHead: (ResponseHead) -> Bool
    let onBody: (Span<UInt8>) -> Bool

    /// Set once the caller's closure has asked to stop.
    private(set) var isCancelled = false
    /// Set once the header lines exceeded the limit.
    private(set) var headersOverflowed = false
    /// Set once a response that must be HTTP/2 has started in another version.
    private(set) var isOtherVersion = false
    /// Set once the final head was delivered.
    private(set) var headIsDelivered = false

    private var status = 0
    /// Whether the status line of the current head has been received: a second one is an invalid header.
    private var hasStatusLine = false
    private var headers: [(name: String, value: String)] = []
    private var headerBytes = 0

    init(
        requiresHTTP2: Bool = false, onHead: @escaping (ResponseHead) -> Bool,
        onBody: @escaping (Span<UInt8>) -> Bool
    ) {
        self.requiresHTTP2 = requiresHTTP2
        self.onHead = onHead
        self.onBody = onBody
    }

    /// Receives one header line including its line ending; false ends the transfer.
    mutating func receiveHeader(_ line: Substring.UTF8View) -> Bool {
        headerBytes += line.count
        guard headerBytes <= Self.headerLimitBytes else {
            headersOverflowed = true
            return false
        }
        // Trailers of a chunked body also arrive here and are ignored.
        guard !headIsDelivered else { return true }
        let text = Substring(line)
        if text.hasPrefix("HTTP/") && !hasStatusLine {
            hasStatusLine = true
            if requiresHTTP2, !text.hasPrefix("HTTP/2 ") {
                isOtherVersion = true
                return false
            }
            status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0.prefix(3)) } ?? 0
            return true
        }
        guard let end = line.lastIndex(where: { $0 != 0x0D && $0 != 0x0A }) else { return finishHead() }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let name = Substring(line[..<colon])
        let value = Substring(line[line.index(after: colon)..<line.index(after: end)]).utf8.trimmingBlanks
        headers.append((name: String(name), value: String(value)))
        return true
    }

    /// Receives a piece of the body; false ends the transfer.
    mutating func receiveBody(_ bytes: Span<UInt8>) -> Bool {
        isCancelled = !onBody(bytes)
        return !isCancelled
    }

    /// Called at the blank line: delivers the head, unless it is an interim one (1xx), which the final one follows.
    private mutating func finishHead() -> Bool {
        defer { (headers, hasStatusLine) = ([], false) }
        guard status >= 200 else { return true }
        headIsDelivered = true
        isCancelled = !onHead(ResponseHead(status: status, headers: headers))
        return !isCancelled
    }
}

extension Substring.UTF8View {
    /// The text without leading or trailing spaces and tabs (RFC 9110, section 5.5).
    fileprivate var trimmingBlanks: Substring {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return ""
        }
        return Substring(self[first...last])
    }
}
