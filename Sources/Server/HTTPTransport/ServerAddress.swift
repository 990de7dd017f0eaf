import SyncProtocol

/// The address of a server that a person or the operator names, in its one canonical spelling.
///
/// Parsed more strictly than RFC 3986 requires, so that no two parsers can disagree about the host, and no address has
/// two spellings: no user information, query, fragment or dot segment; no number in place of a host's name except an
/// IPv4 address of four decimal numbers; no characters that need percent-encoding, and no escaped slash.
public struct ServerAddress: Hashable, Sendable {
    public enum Scheme: String, Sendable {
        case https
        case http

        fileprivate var port: Int { self == .https ? 443 : 80 }
    }

    /// The kind of host.
    public enum HostKind: Sendable {
        /// A name of several labels, which DNS may resolve.
        case domainName
        /// A name of a single label, such as `localhost`, or one below `localhost`.
        case localName
        /// An IPv4 address, or an IPv6 address in brackets.
        case literal
    }

    /// The maximum length of accepted text, in bytes.
    public static let maximumBytes = 1024

    public let scheme: Scheme
    /// In lower case.
    public let host: String
    public let hostKind: HostKind
    /// `nil` for the scheme's own port.
    public let port: Int?
    /// Percent-encoded; begins and ends with a slash.
    public let path: String

    /// - Returns: `nil` for anything that is not an address in the strict form.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let separator = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<separator.lowerBound].lowercased())
        else { return nil }
        let rest = text[separator.upperBound...]
        let authority = rest.prefix { !"/?#\\".contains($0) }
        guard let (host, kind, port) = Self.hostAndPort(authority.lowercased()),
            let path = Self.canonicalPath(rest[authority.endIndex...])
        else { return nil }
        self.scheme = scheme
        self.host = host
        hostKind = kind
        self.port = port == scheme.port ? nil : port
        self.path = path
    }

    /// Scheme, host and port, without a trailing slash.
    public var origin: String { "\(scheme.rawValue)://\(authority)" }

    /// Host and port, as in the header `Host`.
    public var authority: String { host + (port.map { ":\($0)" } ?? "") }

    /// The whole address; ends with a slash.
    public var text: String { origin + path }

    /// Whether this address is `other`, or something below it on the same server.
    public func isWithin(_ other: ServerAddress) -> Bool { origin == other.origin && path.hasPrefix(other.path) }

    // MARK: Parsing

    private static func hostAndPort(_ authority: String) -> (String, HostKind, Int?)? {
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        let hostEnd = end ?? authority.firstIndex(of: ":") ?? authority.endIndex
        let (host, rest) = (String(authority[..<hostEnd]), authority[hostEnd...])
        guard let kind = kind(of: host) else { return nil }
        guard !rest.isEmpty else { return (host, kind, nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.first != "0", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(digits), (1...65_535).contains(port)
        else { return nil }
        return (host, kind, port)
    }

    private static func kind(of host: String) -> HostKind? {
        if host.hasPrefix("[") {
            let inner = host.dropFirst().dropLast().utf8
            // libcurl checks whether it is an address; this check excludes zones and other unusual characters.
            let isPlain = inner.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) || $0 == 0x3A }
            return host.hasSuffix("]") && isPlain && inner.count >= 2 ? .literal : nil
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard host.utf8.count <= 253, labels.allSatisfy(isLabel), let last = labels.last else { return nil }
        // Most parsers treat a name that ends in a number as an IPv4 address, in many spellings (WHATWG URL, "ends in a
        // number checker"); only one of them is accepted.
        let isNumber = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
        if isNumber { return labels.count == 4 && labels.allSatisfy(isOctet) ? .literal : nil }
        return labels.count == 1 || last == "localhost" ? .localName : .domainName
    }

    /// Letters, digits and inner hyphens (RFC 1123, section 2.1).
    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
            && label.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    /// A decimal number up to 255, without leading zeros, which some parsers interpret as octal.
    private static func isOctet(_ label: Substring) -> Bool {
        guard let number = Int(label) else { return false }
        return (0...255).contains(number) && String(number) == label
    }

    /// `nil` for a query, a fragment, an empty or a dot segment, a character that needs percent-encoding, or an escape
    /// that is broken or encodes a slash, a backslash or a control character.
    private static func canonicalPath(_ path: Substring) -> String? {
        guard path.isEmpty || path.hasPrefix("/") else { return nil }
        var segments: [String] = []
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if part.isEmpty, index == parts.count - 1 { break }
            // Some servers drop what follows a semicolon before they look at dot segments.
            guard let segment = canonicalSegment(part), !["", ".", ".."].contains(segment.prefix(while: { $0 != ";" }))
            else { return nil }
            segments.append(segment)
        }
        return segments.isEmpty ? "/" : "/" + segments.joined(separator: "/") + "/"
    }

    /// The segment with every escape in capitals, and without unnecessary escapes.
    private static func canonicalSegment(_ segment: Substring) -> String? {
        var result = ""
        var bytes = segment.utf8[...]
        while let byte = bytes.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                guard isPathCharacter(byte) else { return nil }
                result.unicodeScalars.append(Unicode.Scalar(byte))
                continue
            }
            let digits = bytes.prefix(2)
            guard digits.count == 2, let text = String(digits), let value = UInt8(text, radix: 16),
                !text.hasPrefix("+"),
                value >= 0x20, value != 0x7F, value != UInt8(ascii: "/"), value != UInt8(ascii: "\\")
            else { return nil }
            bytes = bytes.dropFirst(2)
            if PercentEncoding.isUnreserved(value) {
                result.unicodeScalars.append(Unicode.Scalar(value))
            } else {
                result += "%" + text.uppercased()
            }
        }
        return result
    }

    /// `pchar` of RFC 3986, section 3.3, without escapes.
    private static func isPathCharacter(_ byte: UInt8) -> Bool {
        PercentEncoding.isUnreserved(byte) || "!$&'()*+,;=:@".utf8.contains(byte)
    }
}

extension ServerAddress: CustomStringConvertible {
    public var description: String { text }
}

/// The host of an absolute https URL, parsed strictly so that all parsers agree on the host (RFC 3986, section 3.2).
public struct HTTPSAddress: Equatable, Sendable {
    private static let scheme = "https://"

    /// In lower case, without a port.
    public let host: String
    /// From the first slash, without the query; empty if there is no slash.
    public let path: Substring

    /// Reads a URL.
    ///
    /// - Returns: `nil` if it is not https, has no host, or contains anything that parsers could disagree about: a user
    ///   name, a port, a backslash, white space, a control character.
    public init?(_ url: String) {
        guard url.hasPrefix(Self.scheme) else { return nil }
        let rest = url.dropFirst(Self.scheme.count)
        let host = rest.prefix { !"/?#".contains($0) }
        let isPlain = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isPlain, let first = host.first, first != "." else { return nil }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else { return nil }
        self.host = host.lowercased()
        path = rest[host.endIndex...].prefix { $0 != "?" && $0 != "#" }
    }
}
