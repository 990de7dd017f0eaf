import HTTPTransport
import HTTPTypes

/// The action that a provider's reply requires, at a sign-in as at a storage. Each company has one table.
enum ReplyVerdict {
    /// The reply is a success or a failure that the caller understands.
    case answer
    /// The provider itself, in its own format, says that the access token is not valid.
    case tokenRejected
    /// A 401 that is not in the provider's format, such as a proxy's page: a new token is worth a try, but nobody has judged
    /// the present one.
    case tokenDoubted
    /// The request took no effect, because something in its authorization other than the token was wrong, which has been
    /// corrected: it is sent again at once.
    case authorizationCorrected
    /// A retry may help, after the given time if the provider named one.
    case tryAgain(after: Duration?, detail: String)
    /// The same, since there were too many requests.
    case throttled(after: Duration?, detail: String)
    case failure(CloudStorageError)
}

extension ReplyVerdict {
    /// What the reply to a request with a token that somebody presents means; `nil` for an answer. Only the provider's own
    /// word rejects the token.
    var accountError: AccountError? {
        switch self {
        case .answer: nil
        case .tokenRejected: .rejected
        case .tokenDoubted: .unavailable(detail: "a 401 that is not the provider's own")
        case .authorizationCorrected: .unavailable(detail: "the authorization was corrected")
        case .tryAgain(let delay, let detail), .throttled(let delay, let detail):
            .notAsked(retryAfter: min(delay ?? Pauses.usual, Pauses.longest), detail: detail)
        case .failure(let error):
            switch error {
            case .authorizationRevoked: .rejected
            case .serverNotAllowed: .serverNotAllowed
            case .termsNotAccepted: .storageUnusable(.termsNotAccepted)
            case .misconfigured(let detail): .misconfigured(detail: detail)
            case .withheld(let reason): .withheld(reason)
            case .timedOut: .timedOut
            case .notFound, .quotaExceeded, .rateLimited, .unavailable, .contentMismatch, .rejected, .contentFailed,
                .downloadCancelled, .localFailure:
                .unavailable(detail: String(reflecting: error))
            }
        }
    }
}

extension CloudStorageError {
    /// What it means that a server could not prove its identity (``TransportError/refused(_:)``): nobody has judged the person,
    /// and a certificate that has expired is replaced by and by.
    init(ofRefusal reason: String, _ request: OutgoingRequest) {
        self = request.server == nil ? .misconfigured(detail: reason) : .unavailable(detail: reason)
    }
}

/// The outcome of one request that must not be retried without asking the provider first.
enum SingleOutcome {
    case answer(Reply)
    /// The request failed or its reply was lost: how much of it took effect is unknown. The error is the one to report
    /// if no other attempt follows.
    case unknown(after: Duration?, CloudStorageError)
}

/// Sends a provider's requests with the person's token, renews it when it is rejected, and retries what may be retried.
///
/// One value serves one operation. A token that is rejected right after it was renewed ends it with a transient
/// failure; one that was accepted in between may simply have expired, since an operation may take longer than a token's
/// lifetime.
struct ProviderClient {
    /// Adds to a request what shows that it is the person's: by default the token, as a bearer token.
    /// - Parameter location: ``StoredCredentials/location``, of the same record as the token; `nil` for a token that was known
    ///   at the beginning.
    typealias Authorizer = (inout OutgoingRequest, _ token: String, _ location: String?) throws(CloudStorageError) ->
        Void

    let access: StorageAccess
    private let authorize: Authorizer
    let classify: (Reply) -> ReplyVerdict
    /// `false` for addresses that are themselves the authorization: the token must not be sent to them.
    var presentsToken = true
    private var token: String?
    /// Of the same record as the token; `nil` for one that was known at the beginning.
    private var location: String?
    private var hasJustRenewed = false
    /// Whom the last request was for: the name of a service, or the address of a server.
    private var asked = ""
    /// Whether a request was sent again because it was not known what had become of it: it may have been carried out twice.
    private(set) var hasRepeated = false

    /// - Parameter token: the one to begin with, if it is known already.
    init(
        _ access: StorageAccess, token: String? = nil, authorize: @escaping Authorizer = Self.presentBearerToken,
        classify: @escaping (Reply) -> ReplyVerdict
    ) {
        self.access = access
        self.authorize = authorize
        self.classify = classify
        self.token = token
    }

    /// Sends `request`, with retries if necessary, until there is an answer; for idempotent requests.
    /// - Parameter deadline: that of the access if `nil`.
    mutating func send(_ request: OutgoingRequest, by deadline: Deadline? = nil) throws(CloudStorageError) -> Reply {
        let deadline = deadline ?? access.deadline
        var attempt = 0
        while true {
            switch try sendOnce(request, by: deadline) {
            case .answer(let reply): return reply
            case .unknown(let retryAfter, let error):
                attempt += 1
                hasRepeated = true
                try wait(before: attempt, retryAfter: retryAfter, by: deadline, orThrow: error)
            }
        }
    }

    /// The same for a request that sends `part`: how long it may take counts from the arrival of all of the part.
    mutating func send(
        _ request: OutgoingRequest, with part: UploadPart, within patience: Duration
    ) throws(CloudStorageError) -> Reply {
        var attempt = 0
        while true {
            switch try sendOnce(request, by: part.deadline(within: patience)) {
            case .answer(let reply): return reply
            case .unknown(let retryAfter, let error):
                attempt += 1
                try wait(
                    before: attempt, retryAfter: retryAfter, by: part.deadline(within: patience), orThrow: error)
            }
        }
    }

    /// Sends `request` once; again only with a renewed token, since a rejected request took no effect.
    mutating func sendOnce(
        _ request: OutgoingRequest, by deadline: Deadline
    ) throws(CloudStorageError) -> SingleOutcome {
        while true {
            let reply: Reply
            let authorized = try authorized(request)
            asked = request.server ?? request.call.service.name
            do {
                reply = try access.transport.send(authorized, by: deadline)
            } catch {
                switch error {
                case .notSent: return .unknown(after: nil, .unavailable(detail: "no connection"))
                case .interrupted: return .unknown(after: nil, .unavailable(detail: "connection lost"))
                case .timedOut: return .unknown(after: nil, .timedOut)
                case .withheld(let reason): throw .withheld(reason)
                case .replyTooLarge: throw .unavailable(detail: "reply too large")
                case .cancelled:
                    throw request.body?.failure.map { .contentFailed($0) }
                        ?? .unavailable(detail: "cannot be sent again")
                case .refused(let reason): throw CloudStorageError(ofRefusal: reason, request)
                case .forbiddenAddress: throw .serverNotAllowed
                }
            }
            switch try settle(reply, by: deadline) {
            case .answer: return .answer(reply)
            case .tokenRejected, .tokenDoubted, .authorizationCorrected: continue
            case .tryAgain(let retryAfter, let detail): return .unknown(after: retryAfter, .unavailable(detail: detail))
            case .throttled(let retryAfter, _): return .unknown(after: retryAfter, .rateLimited(retryAfter: retryAfter))
            case .failure(let error): throw error
            }
        }
    }

    /// Classifies `reply`, and renews the token if the reply rejects it.
    mutating func settle(_ reply: Reply, by deadline: Deadline) throws(CloudStorageError) -> ReplyVerdict {
        let verdict = classify(reply)
        switch verdict {
        case .answer, .failure: hasJustRenewed = false
        case .tokenRejected, .tokenDoubted: try renewToken(by: deadline)
        case .tryAgain, .throttled, .authorizationCorrected: break
        }
        return verdict
    }

    /// Waits before attempt number `attempt`.
    /// - Throws: if no time or no attempt is left: `error`, or that we were asked to slow down.
    func wait(
        before attempt: Int, retryAfter: Duration?, by deadline: Deadline, orThrow error: CloudStorageError
    ) throws(CloudStorageError) {
        let hasWaited = access.backoff.wait(
            before: attempt, retryAfter: retryAfter, deadline: deadline, for: asked)
        guard !hasWaited else { return }
        if deadline.hasPassed { throw .timedOut }
        throw retryAfter == nil ? error : .rateLimited(retryAfter: retryAfter)
    }

    /// Adds the authorization to `request`, if the token is to be sent.
    mutating func authorized(_ request: OutgoingRequest) throws(CloudStorageError) -> OutgoingRequest {
        guard presentsToken else { return request }
        let token: String
        if let known = self.token {
            token = known
        } else {
            token = try access.tokens.current()
            location = access.tokens.location
        }
        self.token = token
        var request = request
        // Not what the tokens say now: another client of theirs may have renewed them.
        try authorize(&request, token, location)
        return request
    }

    private static func presentBearerToken(
        _ request: inout OutgoingRequest, _ token: String, _ location: String?
    ) {
        request.headers[.authorization] = "Bearer " + token
    }

    private mutating func renewToken(by deadline: Deadline) throws(CloudStorageError) {
        // Only a rejection by the token endpoint itself means that a permission is gone
        // (``AccessTokens/renewed(insteadOf:by:)``).
        guard !hasJustRenewed, let rejected = token else {
            throw .unavailable(detail: "a token that was just renewed is refused")
        }
        hasJustRenewed = true
        let renewed = try access.tokens.renewed(insteadOf: rejected, by: deadline)
        // Nobody has said yet that the token is revoked, but it is not to be tried again either.
        guard renewed != rejected else { throw .unavailable(detail: "the token is refused") }
        token = renewed
        location = access.tokens.location
    }
}
