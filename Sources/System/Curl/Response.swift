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
