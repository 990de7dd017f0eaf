import HTTPTransport
import HTTPTypes

/// What a provider's reply asks of us.
enum ReplyVerdict {
    /// The reply is an answer, good or bad, that the caller understands.
    case answer
    /// The access token is not accepted.
    case tokenRejected
    /// Trying again may help, after the given time if the provider named one.
    case tryAgain(after: Duration?, detail: String)
    case failure(CloudStorageError)
}

/// Sends a provider's requests with a bearer token, renews it once, and repeats what may be repeated.
///
/// One value serves one operation: that is what "at most one renewal" refers to.
struct ProviderClient {
    let access: StorageAccess
    let judge: (Reply) -> ReplyVerdict
    private var token: String?
    private var hasRenewed = false

    init(_ access: StorageAccess, judge: @escaping (Reply) -> ReplyVerdict) {
        self.access = access
        self.judge = judge
    }

    /// Sends `request` until there is an answer.
    ///
    /// - Parameter isRepeatable: whether the request may be sent again when nobody knows if it took effect.
    /// - Returns: the answer, or `nil` if the effect of a request that may not be repeated is unknown.
    mutating func send(
        _ request: OutgoingRequest, isRepeatable: Bool = true, deadline: Deadline? = nil
    ) throws(CloudStorageError) -> Reply? {
        let deadline = deadline ?? access.deadline
        var attempt = 0
        while true {
            let verdict: ReplyVerdict
            do {
                let reply = try access.transport.send(try authorized(request), by: deadline)
                verdict = judge(reply)
                if case .answer = verdict { return reply }
            } catch let error as TransportError {
                switch error {
                case .notSent: verdict = .tryAgain(after: nil, detail: "no connection")
                case .interrupted where isRepeatable: verdict = .tryAgain(after: nil, detail: "connection lost")
                case .timedOut where isRepeatable && !deadline.hasPassed:
                    verdict = .tryAgain(after: nil, detail: "too slow")
                case .interrupted, .timedOut:
                    if isRepeatable { throw .timedOut }
                    return nil
                case .replyTooLarge: throw .unavailable(detail: "reply too large")
                case .cancelled: throw .unavailable(detail: "cancelled")
                case .refused(let reason): throw .rejected(code: reason)
                }
            } catch let error as CloudStorageError {
                throw error
            } catch {
                throw .unavailable(detail: "\(error)")
            }
            attempt += 1
            switch verdict {
            case .answer: continue  // returned above
            case .tokenRejected: try renewToken()
            case .failure(let error): throw error
            case .tryAgain(let delay, let detail):
                guard access.backoff.wait(before: attempt, told: delay, deadline: deadline) else {
                    if deadline.hasPassed { throw .timedOut }
                    throw delay == nil ? .unavailable(detail: detail) : .rateLimited(retryAfter: delay)
                }
            }
        }
    }

    /// Sends a request whose effect, if the connection is lost, does no harm when repeated.
    mutating func sendRepeatably(
        _ request: OutgoingRequest, deadline: Deadline? = nil
    ) throws(CloudStorageError) -> Reply {
        guard let reply = try send(request, isRepeatable: true, deadline: deadline) else { throw .timedOut }
        return reply
    }

    /// Adds the bearer token to `request`.
    mutating func authorized(_ request: OutgoingRequest) throws(CloudStorageError) -> OutgoingRequest {
        let token: String
        if let known = self.token { token = known } else { token = try access.tokens.current() }
        self.token = token
        var request = request
        request.headers[.authorization] = "Bearer " + token
        return request
    }

    /// Renews the token; the second rejection in one operation means that the permission is gone.
    mutating func renewToken() throws(CloudStorageError) {
        guard !hasRenewed, let rejected = token else { throw .authorizationRevoked }
        hasRenewed = true
        token = try access.tokens.renewed(insteadOf: rejected)
    }
}
