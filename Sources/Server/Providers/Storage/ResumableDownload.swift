import HTTPTransport
import HTTPTypes

/// Downloads a body and, if the connection breaks, goes on where it broke off (RFC 9110, section 14).
///
/// The access's deadline holds until the first byte has arrived. After that a body may take as long as it flows; each
/// interruption must be over within the time that was there at the beginning.
struct ResumableDownload {
    private static let errorBodyLimitBytes = 64 * 1024
    private var client: ProviderClient
    private let access: StorageAccess
    private let patience: Duration
    /// What each request looks like but for its address and range: GET unless the provider wants another method.
    var form = OutgoingRequest(.get, "")

    private var received: Int64 = 0
    private var attempt = 0

    init(access: StorageAccess, classify: @escaping (Reply) -> ReplyVerdict) {
        self.access = access
        client = ProviderClient(access, classify: classify)
        patience = access.deadline.remaining
    }

    /// Fetches `url` and hands its body over in order, each byte once.
    mutating func run(_ url: String, receive: (Span<UInt8>) -> Bool) throws(CloudStorageError) {
        try run({ _ throws(CloudStorageError) in url }, receive)
    }

    /// The same where the body lies under an address that is itself the permission and may have a short life: asked for
    /// before each request, and not shown our token.
    mutating func run(
        locating: (Deadline) throws(CloudStorageError) -> String, receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        client.presentsToken = false
        try run(locating, receive)
    }

    private mutating func run(
        _ locate: (Deadline) throws(CloudStorageError) -> String, _ receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        var deadline = access.deadline
        while true {
            let before = received
            let url = try locate(deadline)
            let (retryAfter, error): (Duration?, CloudStorageError)
            switch try attemptOnce(url, by: deadline, receive: receive) {
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

    /// One request for what is still missing.
    private mutating func attemptOnce(
        _ url: String, by deadline: Deadline, receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) -> Outcome {
        while true {
            var request = form
            request.url = url
            if received > 0 { request.headers[.range] = "bytes=\(received)-" }
            let start = received
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
                        isContent = Self.isContent(reply, from: start)
                        return true
                    },
                    body: { bytes in
                        guard isContent else {
                            for index in bytes.indices { errorBody.append(bytes[index]) }
                            return errorBody.count < Self.errorBodyLimitBytes
                        }
                        received += Int64(bytes.count)
                        isCancelled = !receive(bytes)
                        return !isCancelled
                    })
            } catch {
                if isCancelled { throw .downloadCancelled }
                if case .refused(let reason) = error { throw .rejected(code: reason) }
                if case .withheld(let reason) = error { throw .withheld(reason) }
                // The status of a refusal counts even if its body is cut off or too long.
                if isContent || head == nil {
                    return .interrupted(
                        after: nil, error == .timedOut ? .timedOut : .unavailable(detail: "connection lost"))
                }
            }
            guard let head else { return .interrupted(after: nil, .unavailable(detail: "no reply")) }
            // Only the end of the transfer had been lost, not a byte of the body.
            if start > 0, head.status == 416, head.headers[.contentRange] == "bytes */\(start)" { return .complete }
            switch try client.settle(Reply(head: head, body: errorBody), by: deadline) {
            case .answer where isContent: return .complete
            case .answer: throw .unavailable(detail: "unexpected status \(head.status) or range")
            case .tokenRejected: continue
            case .tryAgain(let retryAfter, let detail):
                return .interrupted(after: retryAfter, .unavailable(detail: detail))
            case .failure(let error): throw error
            }
        }
    }

    /// Whether the reply's body is what was asked for: everything, or the rest from `start` on.
    private static func isContent(_ head: ReplyHead, from start: Int64) -> Bool {
        if start == 0 { return head.status == 200 }
        return head.status == 206 && head.headers[.contentRange]?.hasPrefix("bytes \(start)-") == true
    }
}
