import Foundation
import HTTPTypes
import SyncProtocol

extension HTTPRequest {
    /// A request to an address in a user's storage. The address is itself the authorization: the request carries no
    /// credentials.
    /// - Parameter schemes: The allowed schemes.
    /// - Returns: Nil if the address is unusable.
    init?(_ method: Method, atStorage url: String, schemes: Set<String>) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, schemes.contains(scheme),
            let authority = parts.authority
        else { return nil }
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        self.init(
            method: method, scheme: scheme, authority: authority,
            path: (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query)
    }
}

/// The requests to a provider's upload session, and their replies (docs/protocol.md, section 8.29).
struct StorageSession: Sendable {
    /// The state of the session according to a reply.
    enum Answer: Sendable, Hashable {
        /// The storage has all bytes.
        case finished
        /// It waits for the bytes from this position.
        case expects(Int64)
        /// The session does not exist, perhaps because it has ended with its object.
        case unknown
        /// The position is unknown; the storage may be asked later.
        case unclear(retryAfter: Duration?)
        /// It has not answered in time.
        case silent
        /// The session accepts no bytes.
        case refused
    }

    /// Approximate size of a request with a part of the file, which is in memory while it is sent.
    private static let pieceBytes: Int64 = 16 << 20
    /// The limit below which all requests to a OneDrive session must stay.
    private static let fragmentLimitBytes: Int64 = 60 << 20

    let lengthBytes: Int64
    private let form: DirectUpload.Form
    private let granularityBytes: Int64
    private let request: HTTPRequest

    /// - Returns: Nil if the address is unusable, or not that of a session.
    init?(_ direct: DirectUpload, ofBytes lengthBytes: Int64, schemes: Set<String>) {
        guard direct.form != .whole, lengthBytes > 0,
            var request = HTTPRequest(.put, atStorage: direct.url, schemes: schemes),
            1...Self.pieceBytes ~= direct.granularityBytes ?? 1
        else { return nil }
        request.headerFields[.contentType] = direct.contentType
        self.request = request
        self.lengthBytes = lengthBytes
        form = direct.form
        granularityBytes = direct.granularityBytes ?? 1
    }

    /// Asks for the position to resume at.
    var question: HTTPRequest {
        var question = request
        if form == .fragments {
            question.method = .get
            question.headerFields = [:]
        } else {
            question.headerFields[.contentRange] = "bytes */\(lengthBytes)"
        }
        return question
    }

    /// The bytes to send in one request from a position: all remaining ones, or up to a multiple of the granularity.
    func range(from position: Int64) -> Range<Int64> {
        if position == 0, form == .resumable || lengthBytes < Self.fragmentLimitBytes { return 0..<lengthBytes }
        let end = (position + Self.pieceBytes) / granularityBytes * granularityBytes
        return position..<min(end, lengthBytes)
    }

    /// The request that sends these bytes.
    func request(for range: Range<Int64>) -> HTTPRequest {
        var request = request
        request.headerFields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(lengthBytes)"
        return request
    }

    /// - Parameters:
    ///   - isQuestion: Whether it is a reply to ``question``.
    ///   - now: The current date, to interpret a date in `Retry-After`.
    func answer(_ reply: HTTPReply, isQuestion: Bool, now: Date) -> Answer {
        let status = reply.response.status.code
        switch (form, status) {
        case (.resumable, 308): return expected(reply.header(.range).map(Self.end) ?? 0)
        case (.fragments, 202): return expected(Self.firstExpected(in: reply))
        case (.fragments, 200) where isQuestion:
            let first = Self.firstExpected(in: reply)
            return first == lengthBytes ? .finished : expected(first)
        case (_, 200), (_, 201): return .finished
        case (_, 404), (_, 410): return .unknown
        // The session is at another position, or another request to it has not ended.
        case (.fragments, 409), (.fragments, 416), (_, 408), (_, 429), (_, 500...):
            let value = reply.header(.retryAfter)
            return .unclear(retryAfter: value.flatMap { RetryAfter.duration($0, now: now) })
        default: return .refused
        }
    }

    private func expected(_ position: Int64?) -> Answer {
        guard let position, 0..<lengthBytes ~= position else { return .refused }
        return .expects(position)
    }

    /// The position after `bytes=0-LAST`; nil for any other form.
    private static func end(of range: String) -> Int64? {
        let parts = range.split(separator: "-")
        guard parts.count == 2, parts[0] == "bytes=0" || parts[0] == "0", let last = Int64(parts[1]) else { return nil }
        return last.addingReportingOverflow(1).overflow ? nil : last + 1
    }

    /// The start of the first of `nextExpectedRanges`; nil if there is none.
    private static func firstExpected(in reply: HTTPReply) -> Int64? {
        struct State: Decodable {
            var nextExpectedRanges: [String]
        }
        let state = try? JSONDecoder().decode(State.self, from: reply.body)
        return state?.nextExpectedRanges.first.flatMap { range in Int64(range.prefix { $0 != "-" }) }
    }
}
