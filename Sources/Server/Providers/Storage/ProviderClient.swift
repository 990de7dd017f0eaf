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

/// What came of one request that must not be repeated without asking the provider first.
enum SingleOutcome {
    case answer(Reply)
    /// The request failed or its reply was lost: nobody knows how much of it took effect.
    /// The error is what there is to say if no other attempt follows.
    case unknown(after: Duration?, CloudStorageError)
}

/// Sends a provider's requests with a bearer token, renews it when it is refused, and repeats what may be repeated.
///
/// One value serves one operation. A token that is refused right after it was renewed ends it as a failure that may pass;
/// one that was accepted in between may have come to its natural end, since an operation may take longer than a token lives.
struct ProviderClient {
    let access: StorageAccess
    let classify: (Reply) -> ReplyVerdict
    /// `false` for addresses that are themselves the permission: they must not see the token.
    var presentsToken = true
    private var token: String?
    private var hasJustRenewed = false

    init(_ access: StorageAccess, classify: @escaping (Reply) -> ReplyVerdict) {
        self.access = access
        self.classify = classify
    }

    /// Sends `request`, again if need be, until there is an answer; for requests that do no harm when repeated.
    /// - Parameter deadline: that of the access if `nil`.
    mutating func send(_ request: OutgoingRequest, by deadline: Deadline? = nil) throws(CloudStorageError) -> Reply {
        let deadline = deadline ?? access.deadline
        var attempt = 0
        while true {
            switch try sendOnce(request, by: deadline) {
            case .answer(let reply): return reply
            case .unknown(let retryAfter, let error):
                attempt += 1
                try wait(before: attempt, retryAfter: retryAfter, by: deadline, orThrow: error)
            }
        }
    }

    /// Sends `request` once; again only with a renewed token, since a refused request took no effect.
    mutating func sendOnce(
        _ request: OutgoingRequest, by deadline: Deadline
    ) throws(CloudStorageError) -> SingleOutcome {
        while true {
            let reply: Reply
            let authorized = try authorized(request)
            do {
                reply = try access.transport.send(authorized, by: deadline)
            } catch {
                switch error {
                case .notSent: return .unknown(after: nil, .unavailable(detail: "no connection"))
                case .interrupted: return .unknown(after: nil, .unavailable(detail: "connection lost"))
                case .timedOut: return .unknown(after: nil, .timedOut)
                case .withheld(let reason): throw .withheld(reason)
                case .replyTooLarge: throw .unavailable(detail: "reply too large")
                case .cancelled: throw .unavailable(detail: "cancelled")
                case .refused(let reason): throw .rejected(code: reason)
                }
            }
            switch try settle(reply, by: deadline) {
            case .answer: return .answer(reply)
            case .tokenRejected: continue
            case .tryAgain(let retryAfter, let detail): return .unknown(after: retryAfter, .unavailable(detail: detail))
            case .failure(let error): throw error
            }
        }
    }

    /// Judges `reply`, and renews the token if the reply refuses it.
    mutating func settle(_ reply: Reply, by deadline: Deadline) throws(CloudStorageError) -> ReplyVerdict {
        let verdict = classify(reply)
        switch verdict {
        case .answer, .failure: hasJustRenewed = false
        case .tokenRejected: try renewToken(by: deadline)
        case .tryAgain: break
        }
        return verdict
    }

    /// Waits before attempt number `attempt`.
    /// - Throws: if there is no time left or no attempt: `error`, or that we were asked to slow down.
    func wait(
        before attempt: Int, retryAfter: Duration?, by deadline: Deadline, orThrow error: CloudStorageError
    ) throws(CloudStorageError) {
        guard !access.backoff.wait(before: attempt, retryAfter: retryAfter, deadline: deadline) else { return }
        if deadline.hasPassed { throw .timedOut }
        throw retryAfter == nil ? error : .rateLimited(retryAfter: retryAfter)
    }

    /// Adds the bearer token to `request`, if it is to be presented.
    mutating func authorized(_ request: OutgoingRequest) throws(CloudStorageError) -> OutgoingRequest {
        guard presentsToken else { return request }
        let token: String
        if let known = self.token { token = known } else { token = try access.tokens.current() }
        self.token = token
        var request = request
        request.headers[.authorization] = "Bearer " + token
        return request
    }

    private mutating func renewToken(by deadline: Deadline) throws(CloudStorageError) {
        // Only the token endpoint's own refusal says that a permission is gone (``AccessTokens/renewed(insteadOf:by:)``).
        guard !hasJustRenewed, let rejected = token else {
            throw .unavailable(detail: "a token that was just renewed is refused")
        }
        hasJustRenewed = true
        token = try access.tokens.renewed(insteadOf: rejected, by: deadline)
    }
}
