/// Replies by the class of their status (RFC 9110, section 15).
struct StatusCounts {
    /// Below 400.
    private(set) var good = 0
    /// 4xx, and unusual ones.
    private(set) var refused = 0
    /// 5xx.
    private(set) var failed = 0

    init(_ statuses: [String: Int]) {
        for (status, count) in statuses {
            if Self.isFailure(status) { failed += count } else if Self.isError(status) { refused += count } else { good += count }
        }
    }

    static func isError(_ status: String) -> Bool { Int(status).map { $0 >= 400 } ?? true }

    static func isFailure(_ status: String) -> Bool { Int(status).map { $0 >= 500 } ?? false }

    /// With what it means, such as `409 Conflict`.
    static func title(_ status: String) -> String {
        phrases[status].map { "\(status) \($0)" } ?? (Int(status) == nil ? "other statuses" : status)
    }

    /// The reason phrases of RFC 9110, section 15, and RFC 6585, section 4; 499 is nginx's own.
    private static let phrases = [
        "400": "Bad Request", "401": "Unauthorized", "403": "Forbidden", "404": "Not Found", "405": "Method Not Allowed",
        "408": "Request Timeout", "409": "Conflict", "410": "Gone", "411": "Length Required", "413": "Content Too Large",
        "414": "URI Too Long", "416": "Range Not Satisfiable", "422": "Unprocessable Content", "429": "Too Many Requests",
        "499": "Phone Hung Up", "500": "Internal Server Error", "502": "Bad Gateway", "503": "Service Unavailable",
        "504": "Gateway Timeout", "507": "Insufficient Storage",
    ]
}
