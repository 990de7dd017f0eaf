import HTTPTransport
import HTTPTypes

/// Downloads a body and, if the connection breaks, goes on where it broke off (RFC 9110, section 14).
struct ResumableDownload {
    private static let errorBodyLimitBytes = 64 * 1024
    private var client: ProviderClient
    private let access: StorageAccess

    init(access: StorageAccess, judge: @escaping (Reply) -> ReplyVerdict) {
        self.access = access
        client = ProviderClient(access, judge: judge)
    }

    /// Fetches `url` with GET and hands its body over in order, each byte once.
    mutating func run(_ url: String, receive: (Span<UInt8>) -> Bool) throws(CloudStorageError) {
        var received: Int64 = 0
        var attempt = 0
        while true {
            var request = OutgoingRequest(.get, url)
            if received > 0 { request.headers[.range] = "bytes=\(received)-" }
            let wanted = received > 0 ? 206 : 200
            var status = 0
            var errorBody: [UInt8] = []
            var isCancelled = false
            var detail = "connection lost"
            var told: Duration?
            do {
                let head = try access.transport.stream(
                    try client.authorized(request), by: access.deadline,
                    head: { head in
                        status = head.status
                        return true
                    },
                    body: { bytes in
                        guard status == wanted else {
                            for index in bytes.indices { errorBody.append(bytes[index]) }
                            return errorBody.count < Self.errorBodyLimitBytes
                        }
                        received += Int64(bytes.count)
                        attempt = 0
                        isCancelled = !receive(bytes)
                        return !isCancelled
                    })
                if head.status == wanted { return }
                switch client.judge(Reply(head: head, body: errorBody)) {
                case .answer: throw CloudStorageError.unavailable(detail: "unexpected status \(head.status)")
                case .failure(let error): throw error
                case .tokenRejected:
                    try client.renewToken()
                    continue
                case .tryAgain(let delay, let reason): (told, detail) = (delay, reason)
                }
            } catch let error as TransportError {
                if isCancelled { throw .downloadCancelled }
                if case .refused(let reason) = error { throw .rejected(code: reason) }
            } catch let error as CloudStorageError {
                throw error
            } catch {
                throw .unavailable(detail: "\(error)")
            }
            attempt += 1
            let deadline = received > 0 ? Deadline.after(.seconds(20)) : access.deadline
            guard access.backoff.wait(before: attempt, told: told, deadline: deadline) else {
                throw told == nil ? .unavailable(detail: detail) : .rateLimited(retryAfter: told)
            }
        }
    }
}
