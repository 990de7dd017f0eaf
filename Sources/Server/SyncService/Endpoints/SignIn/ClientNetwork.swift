/// The network that a request comes from, as far as one caller can be distinguished from another.
///
/// One IPv4 address, or the 64-bit network prefix of an IPv6 address: a device can take any address within it (RFC
/// 4291, section 2.5.4).
public struct ClientNetwork: Hashable, Sendable {
    private let text: String

    /// Represents networks that are not distinguished.
    static let others = ClientNetwork(address: "others")

    /// Parses the address that the web server passes; invalid text counts as one network, that of all unknown callers.
    public init(address: String?) {
        let address = address ?? ""
        guard address.contains(":") else {
            text = address
            return
        }
        // "::ffff:192.0.2.1" is an IPv4 address (RFC 4291, section 2.5.5.2).
        if let last = address.split(separator: ":").last, last.contains(".") {
            text = String(last)
            return
        }
        let halves = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        var groups = Self.groups(halves[0])
        if halves.count == 2 {
            let tail = Self.groups(halves[1])
            groups += Array(repeating: 0, count: max(0, 8 - groups.count - tail.count)) + tail
        }
        text = groups.prefix(4).map { String($0, radix: 16) }.joined(separator: ":")
    }

    private static func groups(_ text: Substring) -> [UInt16] {
        text.split(separator: ":").map { UInt16($0, radix: 16) ?? 0 }
    }
}

extension ClientNetwork: CustomStringConvertible {
    /// The address, or the prefix.
    public var description: String { text.isEmpty ? "-" : text }
}
