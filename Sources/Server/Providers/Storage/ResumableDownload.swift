import HTTPTransport
import HTTPTypes

/// Downloads a body or a range of it; if the connection breaks, resumes at the same position (RFC 9110, section 14).
///
/// A server may ignore the range and send everything: bytes outside the range, or received before, are dropped.
///
/// The access's deadline applies until the first byte has arrived. After that, a body may take as long as data keeps
/// flowing; each interruption must end within the time that was available at the beginning.
struct ResumableDownload {
    private static let errorBodyLimitBytes = 64 * 1024
    /// The time limit for a body that is kept in memory.
    private static let prefixTime: Duration = .seconds(120)
    private var client: ProviderClient
    private let access: StorageAccess
    private let patience: Duration
    /// The template of each request, without its address and range: GET unless the provider requires another method.
    var form: OutgoingRequest
    /// The range to download; `nil` for all bytes.
    var range: ClosedRange<Int64>?

    private var hasBegun = false
    private var received: Int64 = 0
    private var attempt = 0

    init(from service: ExternalService, access: StorageAccess, classify: @escaping (Reply) -> ReplyVerdict) {
        self.init(
            OutgoingRequest(service, .download, .get, ""), through: ProviderClient(access, classify: classify))
    }

    /// - Parameter client: sends the requests, with its own kind of authorization.
    init(_ form: OutgoingRequest, through client: ProviderClient) {
        self.form = form
        self.client = client
        access = client.access
        patience = access.deadline.remaining
    }

    /// Fetches `url` and hands over its body in order, each byte once.
    /// - Parameter begin: receives the length of the whole body, whatever the range, if the first reply announces it.
    mutating func run(
        _ url: String, begin: (Int64?) -> Void, receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        try run({ _ throws(CloudStorageError) in url }, begin, receive)
    }

    /// Fetches the first `count` bytes of a body into memory.
    /// - Returns: `nil` if the body does not exist or is shorter.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/timedOut`` if the bytes arrive too slowly, since the thread
    ///   reports no progress meanwhile.
    mutating func prefix(_ count: Int, of url: String) throws(CloudStorageError) -> [UInt8]? {
        guard count > 0 else { return [] }
        let deadline = Deadline.after(Self.prefixTime)
        range = 0...Int64(count - 1)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        do throws(CloudStorageError) {
            try run(
                url, begin: { _ in },
                receive: { piece in
                    bytes.append(copying: piece)
                    return !deadline.hasPassed
                })
        } catch .notFound {
            return nil
        } catch .contentMismatch {
            return nil
        } catch .downloadCancelled {
            throw .timedOut
        }
        return bytes
    }

    /// Downloads from an address that is itself the authorization and may be short-lived: the address is requested
    /// before each attempt, and our token is not sent to it.
    mutating func run(
        locating: (Deadline) throws(CloudStorageError) -> String, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        client.presentsToken = false
        try run(locating, begin, receive)
    }

    private mutating func run(
        _ locate: (Deadline) throws(CloudStorageError) -> String, _ begin: (Int64?) -> Void,
        _ receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        var deadline = access.deadline
        while true {
            let before = received
            let url = try locate(deadline)
            let (retryAfter, error): (Duration?, CloudStorageError)
            switch try attemptOnce(url, by: deadline, begin, receive) {
            case .complete: return
            case .interrupted(let after, let reason): (retryAfter, error) = (after, reason)
            }
            if received > before {
                attempt = 0
                deadline = .after(patience)
            }
            attempt += 1
            try client.wait(before: attempt, retryAfter: retryAfter, by: deadline, orThrow: error)
        }
    }

    private enum Outcome {
        case complete
        case interrupted(after: Duration?, CloudStorageError)
    }

    /// One request for the missing bytes.
    private mutating func attemptOnce(
        _ url: String, by deadline: Deadline, _ begin: (Int64?) -> Void, _ receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) -> Outcome {
        while true {
            // The range is complete; only the end of the transfer was lost.
            if let range, received == range.count { return .complete }
            var request = form
            request.url = url
            let start = (range?.lowerBound ?? 0) + received
            if start > 0 || range != nil {
                request.headers[.range] = "bytes=\(start)-\(range.map { "\($0.upperBound)" } ?? "")"
            }
            var unwanted: Int64 = 0
            var hasEverything = false
            var head: ReplyHead?
            var isContent = false
            var errorBody: [UInt8] = []
            var isCancelled = false
            let authorized = try client.authorized(request)
            do {
                _ = try access.transport.stream(
                    authorized, by: deadline,
                    head: { reply in
                        head = reply
                        guard let position = Self.position(of: reply, for: start) else { return true }
                        isContent = true
                        unwanted = start - position
                        if !hasBegun {
                            hasBegun = true
                            begin(Self.length(of: reply))
                        }
                        return true
                    },
                    body: { bytes in
                        guard isContent else {
                            for index in bytes.indices { errorBody.append(bytes[index]) }
                            return errorBody.count < Self.errorBodyLimitBytes
                        }
                        let dropped = min(unwanted, Int64(bytes.count))
                        unwanted -= dropped
                        let rest = bytes.extracting(droppingFirst: Int(dropped))
                        let wanted = rest.extracting(first: range.map { Int($0.count) - Int(received) } ?? rest.count)
                        received += Int64(wanted.count)
                        isCancelled = !wanted.isEmpty && !receive(wanted)
                        hasEverything = range.map { received == $0.count } ?? false
                        // Ends a reply that extends beyond the range; reads other replies to their end.
                        return !isCancelled && wanted.count == rest.count
                    })
            } catch {
                if isCancelled { throw .downloadCancelled }
                if hasEverything { return .complete }
                if case .refused(let reason) = error { throw CloudStorageError(ofRefusal: reason, request) }
                if case .forbiddenAddress = error { throw .serverNotAllowed }
                if case .withheld(let reason) = error { throw .withheld(reason) }
                // The status of a rejection counts even if its body is truncated or too long.
                if isContent || head == nil {
                    return .interrupted(
                        after: nil, error == .timedOut ? .timedOut : .unavailable(detail: "connection lost"))
                }
            }
            guard let head else { return .interrupted(after: nil, .unavailable(detail: "no reply")) }
            if head.status == 416, range != nil { throw .contentMismatch }
            // Only the end of the transfer was lost, not a byte of the body.
            if start > 0, head.status == 416, head.headers[.contentRange] == "bytes */\(start)" { return .complete }
            switch try client.settle(Reply(head: head, body: errorBody), by: deadline) {
            case .answer where isContent:
                // The object ends before the range.
                guard range == nil || hasEverything else { throw .contentMismatch }
                return .complete
            case .answer: throw .unavailable(detail: "unexpected status \(head.status) or range")
            case .tokenRejected, .tokenDoubted, .authorizationCorrected: continue
            case .tryAgain(let retryAfter, let detail):
                return .interrupted(after: retryAfter, .unavailable(detail: detail))
            case .throttled(let retryAfter, _):
                return .interrupted(after: retryAfter, .rateLimited(retryAfter: retryAfter))
            case .failure(let error): throw error
            }
        }
    }

    /// The length of the whole body as announced by the reply (RFC 9110, sections 8.6 and 14.4), unless the body is
    /// encoded.
    private static func length(of head: ReplyHead) -> Int64? {
        guard head.headers[.contentEncoding] == nil else { return nil }
        let text =
            isPartial(head)
            ? head.headers[.contentRange]?.split(separator: "/").last : head.headers[.contentLength]?[...]
        return text.flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Whether the reply contains a part of the body. Only 206 gives `Content-Range` a meaning (RFC 9110, section
    /// 14.4), but `rclone serve s3` answers a range with 200; in that case, the announced length must be that of the
    /// range.
    private static func isPartial(_ head: ReplyHead) -> Bool {
        if head.status == 206 { return true }
        guard head.status == 200, let range = head.headers[.contentRange], range.hasPrefix("bytes "),
            let length = head.headers[.contentLength].flatMap({ Int64($0) }), length > 0
        else { return false }
        let numbers = range.dropFirst(6).split(whereSeparator: { "-/".contains($0) }).map { Int64($0) }
        guard numbers.count == 3, let first = numbers[0], let last = numbers[1], let whole = numbers[2] else {
            return false
        }
        return length != whole && last.subtractingReportingOverflow(first).partialValue == length - 1
    }

    /// The position in the whole body at which the reply's body begins: `start`, or 0 if it is complete; otherwise
    /// `nil`.
    private static func position(of head: ReplyHead, for start: Int64) -> Int64? {
        guard isPartial(head) else { return head.status == 200 ? 0 : nil }
        return head.headers[.contentRange]?.hasPrefix("bytes \(start)-") == true ? start : nil
    }
}
