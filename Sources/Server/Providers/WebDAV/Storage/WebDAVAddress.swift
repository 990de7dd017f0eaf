import HTTPTransport
import SyncProtocol

/// The root collection of a person's files, and the addresses of resources below it.
struct WebDAVAddress: Equatable, Sendable {
    /// The collection's address; its path ends with a slash.
    let root: ServerAddress
    /// Who determined the host.
    let destination: OutgoingRequest.Destination

    /// The address of the resource with these names, from the collection downwards.
    ///
    /// The address of a collection ends with a slash: without one, servers redirect (Apache's `mod_dir`) or reject
    /// (nginx, for MKCOL).
    func url(_ names: [String], isCollection: Bool = false) -> String {
        root.text + Self.encoded(names) + (isCollection && !names.isEmpty ? "/" : "")
    }

    /// The address of a path on the same server.
    /// - Parameter path: decoded segments, from the server's root downwards.
    func url(absolute path: [String]) -> String { root.origin + "/" + Self.encoded(path) }

    /// The path of the resource with these names, for servers that do not accept a whole URL as `Destination` (RFC
    /// 4918, section 10.3, allows both).
    ///
    /// Behind a TLS-terminating proxy, a server may assume that it uses plain http, and reject the URL as belonging to
    /// a different server (WsgiDAV: 502). Other servers require a URL (Apache: 400).
    func path(_ names: [String]) -> String { root.path + Self.encoded(names) }

    /// The decoded segments of the collection's own path.
    var segments: [String] { Self.segments(ofPath: root.path[...]) ?? [] }

    /// The names, from the collection downwards, that a reply's `href` denotes: a whole URL or a path, escaped in any
    /// way (RFC 4918, section 8.3); empty for the collection itself.
    ///
    /// Compares only the path, since a proxy may have changed scheme and host.
    /// - Returns: `nil` for a resource elsewhere, or a text that is not a reference.
    func names(ofReference reference: String) -> [String]? {
        guard let segments = Self.segments(ofReference: reference) else { return nil }
        let own = self.segments
        guard segments.starts(with: own) else { return nil }
        return Array(segments.dropFirst(own.count))
    }

    /// The decoded segments of a whole URL's path, or of a path from the server's root downwards.
    static func segments(ofReference reference: String) -> [String]? {
        var path = reference[...]
        if let separator = path.firstRange(of: "://") {
            path = path[separator.upperBound...].drop { $0 != "/" }
        }
        return path.hasPrefix("/") ? segments(ofPath: path) : nil
    }

    /// The last name in a reference of any kind, such as a relative one in `Location`: a proxy in front of the server
    /// may have changed the rest.
    static func lastName(ofReference reference: String) -> String? {
        segments(ofPath: reference[...])?.last
    }

    /// `nil` if a segment is not UTF-8, has an invalid escape, or could be read as a different path.
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
