/// One HTTP request to an emulated provider or to the control interface.
public struct SandboxRequest {
    /// Method, in capital letters.
    public let method: String
    /// The `Host` header in lower case, without the port.
    public let host: String
    /// The path as sent, still percent-encoded.
    public let path: String
    /// The query as sent, without `?`.
    public let queryText: String
    /// The decoded query.
    public let query: QueryItems
    /// Address of the peer, as nginx saw it.
    public let peer: String
    /// Whether the request was received over TLS.
    public let isSecure: Bool
    /// The body, read at most once.
    public let body: RequestBody

    private let headers: [String: String]

    /// Creates a request.
    /// - Parameters:
    ///   - target: path and query, as in the request line.
    ///   - host: the `Host` header; a port is removed.
    ///   - headers: names in any letter case.
    public init(
        method: String, host: String, target: String, headers: [(name: String, value: String)] = [],
        peer: String = "127.0.0.1", isSecure: Bool = true, body: RequestBody = RequestBody([])
    ) {
        self.method = method
        self.host = Self.withoutPort(host.lowercased())
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = halves.isEmpty ? "/" : String(halves[0])
        queryText = halves.count == 2 ? String(halves[1]) : ""
        query = QueryItems(queryText)
        self.headers = Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        self.peer = peer
        self.isSecure = isSecure
        self.body = body
    }

    /// All headers with their names in lower case; of repeated ones, the first.
    var allHeaders: [(name: String, value: String)] { headers.map { (name: $0.key, value: $0.value) } }

    /// The value of a header; the name's letter case does not matter.
    public func header(_ name: String) -> String? { headers[name.lowercased()] }

    /// The media type of the body: lower case, without parameters; empty if none is given.
    var mediaType: String {
        let value = header("content-type") ?? ""
        return value.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
    }

    /// The path's segments, decoded; an invalid escape is left unchanged.
    var segments: [String] {
        path.split(separator: "/", omittingEmptySubsequences: true).map {
            PercentEncoding.decode($0, plusIsBlank: false) ?? String($0)
        }
    }

    /// The token of `Authorization: Bearer …`.
    var bearerToken: String? {
        guard let value = header("authorization") else { return nil }
        let words = value.split(separator: " ", maxSplits: 1)
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }

    /// The decoded fields of a form body of at most 64 KiB; `nil` if the body is not a form.
    func readForm() throws(RequestBodyError) -> QueryItems? {
        guard mediaType == "application/x-www-form-urlencoded" else { return nil }
        return QueryItems(String(decoding: try body.readAll(limit: 65_536), as: UTF8.self))
    }

    private static func withoutPort(_ host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        return String(host.prefix { $0 != ":" })
    }
}
