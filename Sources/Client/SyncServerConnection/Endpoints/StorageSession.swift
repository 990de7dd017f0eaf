import Foundation
import HTTPTypes
import SyncProtocol

extension HTTPRequest {
    /// A request to an address at somebody's storage, which is itself the authorization: it carries no credentials.
    /// - Parameter schemes: The only ones that are used.
    /// - Returns: Nil if the address is of no use.
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

/// A provider's upload session, as far as requests to its address and their replies go (docs/protocol.md, section 8.29).
struct StorageSession: Sendable {
    /// What a reply says about the session.
    enum Answer: Sendable, Hashable {
        /// The storage has all bytes.
        case finished
        /// It waits for the bytes from this position on.
        case expects(Int64)
        /// There is no such session, perhaps because it has ended with its object.
        case unknown
        /// The storage may be asked later where to go on.
        case unclear(retryAfter: Duration?)
        /// It has not answered in time.
        case silent
        /// Nothing can come in this way.
        case refused
    }

    /// About the size of a request that has not all of the file. It is in memory while it is sent.
    private static let pieceBytes: Int64 = 16 << 20
    /// What all requests to a session of OneDrive are smaller than.
    private static let fragmentLimitBytes: Int64 = 60 << 20

    let lengthBytes: Int64
    private let form: DirectUpload.Form
    private let granularityBytes: Int64
    private let request: HTTPRequest

    /// - Returns: Nil if the address is of no use, or no session's.
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

    /// Asks where to go on.
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

    /// What to send in one request from a position on: everything, or what ends at a multiple of the granularity.
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
    ///   - now: To interpret a date in `Retry-After`.
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
        // Another position than ours, or another request that has not ended there.
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

    /// The position behind `bytes=0-LAST`; nil if it is of another form.
    private static func end(of range: String) -> Int64? {
        let parts = range.split(separator: "-")
        guard parts.count == 2, parts[0] == "bytes=0" || parts[0] == "0", let last = Int64(parts[1]) else { return nil }
        return last.addingReportingOverflow(1).overflow ? nil : last + 1
    }

    /// Where the first of `nextExpectedRanges` begins; nil if there is none.
    private static func firstExpected(in reply: HTTPReply) -> Int64? {
        struct State: Decodable {
            var nextExpectedRanges: [String]
        }
        let state = try? JSONDecoder().decode(State.self, from: reply.body)
        return state?.nextExpectedRanges.first.flatMap { range in Int64(range.prefix { $0 != "-" }) }
    }
}
