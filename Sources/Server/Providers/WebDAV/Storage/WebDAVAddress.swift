import HTTPTransport
import SyncProtocol

/// The collection at which a person's files begin, and the addresses of resources below it.
struct WebDAVAddress: Equatable, Sendable {
    /// Of the collection; its path ends with a slash.
    let root: ServerAddress
    /// Whose word the host is.
    let destination: OutgoingRequest.Destination

    /// The address of the resource with these names, from the collection downwards.
    ///
    /// That of a collection ends with a slash: without one, servers redirect (Apache's `mod_dir`) or refuse (nginx, for
    /// MKCOL).
    func url(_ names: [String], isCollection: Bool = false) -> String {
        root.text + Self.encoded(names) + (isCollection && !names.isEmpty ? "/" : "")
    }

    /// The address of a path on the same server.
    /// - Parameter path: decoded segments from the server's root on.
    func url(absolute path: [String]) -> String { root.origin + "/" + Self.encoded(path) }

    /// The path of the resource with these names, for servers that do not take a whole URL as `Destination` (RFC 4918,
    /// section 10.3, allows both).
    ///
    /// Behind a proxy that ends TLS, a server may think that it speaks plain http, and refuse the URL as one of somebody
    /// else's (WsgiDAV: 502). Others insist on a URL (Apache: 400).
    func path(_ names: [String]) -> String { root.path + Self.encoded(names) }

    /// The decoded segments of the collection's own path.
    var segments: [String] { Self.segments(ofPath: root.path[...]) ?? [] }

    /// The names from the collection downwards that a reply's `href` stands for: a whole URL or a path, escaped in any
    /// way (RFC 4918, section 8.3); empty for the collection itself.
    ///
    /// A proxy may have changed scheme and host, so that only the path is compared.
    /// - Returns: `nil` for a resource elsewhere, or what is no reference.
    func names(ofReference reference: String) -> [String]? {
        guard let segments = Self.segments(ofReference: reference) else { return nil }
        let own = self.segments
        guard segments.starts(with: own) else { return nil }
        return Array(segments.dropFirst(own.count))
    }

    /// The decoded segments of a whole URL's path, or of a path from the server's root on.
    static func segments(ofReference reference: String) -> [String]? {
        var path = reference[...]
        if let separator = path.firstRange(of: "://") {
            path = path[separator.upperBound...].drop { $0 != "/" }
        }
        return path.hasPrefix("/") ? segments(ofPath: path) : nil
    }

    /// The last name of a reference of any kind, such as a relative one in `Location`: a proxy in front of the server may have
    /// changed the rest.
    static func lastName(ofReference reference: String) -> String? {
        segments(ofPath: reference[...])?.last
    }

    /// `nil` if a segment is not UTF-8, has a broken escape, or could be understood as another path.
    static func segments(ofPath path: Substring) -> [String]? {
        var segments: [String] = []
        for part in path.prefix(while: { $0 != "?" && $0 != "#" }).split(separator: "/") {
            guard let segment = PercentEncoding.decode(part), !segment.contains("/"), segment != ".", segment != ".."
            else { return nil }
            segments.append(segment)
        }
        return segments
    }

    private static func encoded(_ names: [String]) -> String {
        names.map { PercentEncoding.encode($0) }.joined(separator: "/")
    }
}
