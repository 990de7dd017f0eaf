/// Replies by the class of their status (RFC 9110, section 15).
struct StatusCounts {
    /// Below 400.
    private(set) var good = 0
    /// 4xx and unusual statuses.
    private(set) var refused = 0
    /// 5xx.
    private(set) var failed = 0

    init(_ statuses: [String: Int]) {
        for (status, count) in statuses {
            if Self.isFailure(status) {
                failed += count
            } else if Self.isError(status) {
                refused += count
            } else {
                good += count
            }
        }
    }

    static func isError(_ status: String) -> Bool { Int(status).map { $0 >= 400 } ?? true }

    static func isFailure(_ status: String) -> Bool { Int(status).map { $0 >= 500 } ?? false }
}
