import SyncProtocol

/// An error reply as it goes over the wire, except for its length.
struct ErrorReply {
    private static let problemType = "application/problem+json"

    var status: Int
    /// All headers except `content-length`.
    var headers: [(name: String, value: String)]
    /// One line of JSON.
    var body: [UInt8]
    /// Whether its content type is that of problem details.
    var isProblem: Bool

    /// - Parameter accept: the request's header of that name.
    init(
        _ response: ErrorResponse, requestID: String?, accept: String?,
        commonHeaders: [(name: String, value: String)]
    ) {
        isProblem = accept.map(Self.namesProblemType) ?? false
        status = response.status
        body =
            ErrorBody(
                error: response.message, code: response.code.rawValue, requestId: requestID ?? "-",
                retryable: response.isRetryable, goneReason: response.goneReason, switchId: response.switchID,
                usableFrom: response.usableFrom, undoUntil: response.undoUntil, status: response.status,
                isProblem: isProblem
            ).body
        headers = commonHeaders
        headers.append((name: "content-type", value: isProblem ? Self.problemType : "application/json"))
        headers.append((name: ResponseHeader.errorCode.rawValue, value: response.code.rawValue))
        if let method = response.allowedMethod { headers.append((name: "allow", value: method)) }
        if let offset = response.uploadOffset {
            headers.append((name: ResponseHeader.uploadOffset.rawValue, value: "\(offset)"))
        }
        if let length = response.lengthOfWhole { headers.append((name: "content-range", value: "bytes */\(length)")) }
        if let type = response.activeAccountType {
            headers.append((name: ResponseHeader.activeAccountType.rawValue, value: type.rawValue))
        }
        if let delay = response.retryAfter {
            headers.append((name: "retry-after", value: "\(max(1, Self.wholeSeconds(delay)))"))
        }
    }

    /// Rounded up, since a slightly early retry would be rejected again.
    private static func wholeSeconds(_ delay: Duration) -> Int64 {
        delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0)
    }

    /// Whether an `Accept` header names the media type of problem details (RFC 9457) explicitly. Deployed clients send
    /// `*/*`, and get the format that they know.
    private static func namesProblemType(_ accept: String) -> Bool {
        accept.split(separator: ",").contains { range in
            let type = range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
            return type.lowercased() == problemType
        }
    }
}
