import FoundationEssentials
import HTTPTransport
import HTTPTypes
import SyncProtocol
import UntrustedInput

/// The action that a provider's reply requires, at sign-in and for a storage. Each company has one table.
enum ReplyVerdict {
    /// The reply is a success, or a failure that the caller handles.
    case answer
    /// The provider itself, in its own format, reports that the access token is invalid.
    case tokenRejected
    /// A 401 that is not in the provider's format, such as a proxy's page: a new token may help, but nobody has judged
    /// the current one.
    case tokenDoubted
    /// The request took no effect because a part of its authorization other than the token was wrong. That part has
    /// been corrected, and the request is sent again at once.
    case authorizationCorrected
    /// A retry may help, after the given time if the provider named one.
    case tryAgain(after: Duration?, detail: String)
    /// Like ``tryAgain(after:detail:)``, because of too many requests.
    case throttled(after: Duration?, detail: String)
    case failure(CloudStorageError)
}

extension ReplyVerdict {
    /// The meaning of the reply to a request with a presented token; `nil` for an answer. Only the provider's own
    /// verdict rejects the token.
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
    /// The meaning of a server's failure to prove its identity (``TransportError/refused(_:)``): nobody has judged the
    /// person, and an expired certificate will be replaced eventually.
    init(ofRefusal reason: String, _ request: OutgoingRequest) {
        self = request.server == nil ? .misconfigured(detail: reason) : .unavailable(detail: reason)
    }
}

/// The outcome of one request that must not be retried before asking the provider.
enum SingleOutcome {
    case answer(Reply)
    /// The request failed or its reply was lost: how much of it took effect is unknown. If no other attempt follows,
    /// this error is reported.
    case unknown(after: Duration?, CloudStorageError)
}

/// Sends a provider's requests with the person's token, renews a rejected token, and retries requests that may be
/// retried.
///
/// One value serves one operation. If a token is rejected right after it was renewed, the operation ends with a
/// transient failure; a token that was accepted in between may simply have expired, since an operation may take longer
/// than a token's lifetime.
struct ProviderClient {
    /// Adds the person's authorization to a request: by default the token, as a bearer token.
    /// - Parameter location: ``StoredCredentials/location`` from the same record as the token; `nil` for a token that
    ///   was known at the beginning.
    typealias Authorizer = (inout OutgoingRequest, _ token: String, _ location: String?) throws(CloudStorageError) ->
        Void

    let access: StorageAccess
    private let authorize: Authorizer
    let classify: (Reply) -> ReplyVerdict
    /// `false` for addresses that are themselves the authorization: the token must not be sent to them.
    var presentsToken = true
    private var token: AccessToken?
    private var hasJustRenewed = false
    /// The receiver of the last request: the name of a service, or the address of a server.
    private var asked = ""
    /// Whether a request with an unknown outcome was sent again: it may have been carried out twice.
    private(set) var hasRepeated = false

    /// - Parameter token: the token to begin with, if it is already known.
    init(
        _ access: StorageAccess, token: String? = nil, authorize: @escaping Authorizer = Self.presentBearerToken,
        classify: @escaping (Reply) -> ReplyVerdict
    ) {
        self.access = access
        self.authorize = authorize
        self.classify = classify
        self.token = token.map { AccessToken($0) }
    }

    /// Sends `request`, with retries if necessary, until there is an answer; for idempotent requests.
    /// - Parameter deadline: `nil` for the deadline of the access.
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

    /// Sends a request with `part`, as above; its time limit counts from the arrival of all of the part.
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
    /// - Throws: `error`, or the rate limit that was reported, if no time or no attempt is left.
    func wait(
        before attempt: Int, retryAfter: Duration?, by deadline: Deadline, orThrow error: CloudStorageError
    ) throws(CloudStorageError) {
        let hasWaited = access.backoff.wait(
            before: attempt, retryAfter: retryAfter, deadline: deadline, for: asked)
        guard !hasWaited else { return }
        if deadline.hasPassed { throw .timedOut }
        throw retryAfter == nil ? error : .rateLimited(retryAfter: retryAfter)
    }

    /// Adds the authorization to `request`, if the token may be sent.
    mutating func authorized(_ request: OutgoingRequest) throws(CloudStorageError) -> OutgoingRequest {
        guard presentsToken else { return request }
        let token = if let known = self.token { known } else { try access.tokens.current() }
        self.token = token
        var request = request
        try authorize(&request, token.text, token.location)
        return request
    }

    private static func presentBearerToken(
        _ request: inout OutgoingRequest, _ token: String, _ location: String?
    ) {
        request.headers[.authorization] = "Bearer " + token
    }

    private mutating func renewToken(by deadline: Deadline) throws(CloudStorageError) {
        // Only a rejection by the token endpoint itself proves that a permission is gone
        // (``AccessTokens/renewed(insteadOf:by:)``).
        guard !hasJustRenewed, let rejected = token else {
            throw .unavailable(detail: "a token that was just renewed was rejected")
        }
        hasJustRenewed = true
        let renewed = try access.tokens.renewed(insteadOf: rejected.text, by: deadline)
        // Nobody has reported the token as revoked, but it must not be tried again.
        guard renewed.text != rejected.text else { throw .unavailable(detail: "the token was rejected") }
        token = renewed
    }
}

/// Reads and writes the JSON bodies of storage providers.
enum ProviderJSON {
    /// - Throws: ``CloudStorageError/unavailable(detail:)``: a provider that sends anything else is not working.
    static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws(CloudStorageError) -> T {
        do {
            return try UntrustedJSON.decode(type, from: bytes)
        } catch {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
    }

    static func encode(_ value: some Encodable) throws(CloudStorageError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(value))
        } catch {
            throw .rejected(code: "cannot encode the request")
        }
    }
}

extension Reply {
    /// Checks that a success in reply to DELETE means that something was deleted: providers reply with 204, and some
    /// servers with another success without a body.
    ///
    /// A success with a body is the page of a proxy or captive portal. If it was genuine after all, the next attempt
    /// finds nothing to delete.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` for any other success.
    func confirmDeletion() throws(CloudStorageError) {
        guard status == 204 || status >= 300 || body.isEmpty else {
            throw .unavailable(detail: "status \(status) with a body in reply to a deletion")
        }
    }
}

extension String {
    /// The text as XML character data (XML 1.0, section 2.4).
    var asXML: String {
        var result = ""
        // By scalars: with a combining mark after it, "&" is another character.
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension WireDate {
    /// A time in UTC in the providers' format, `2026-11-24T18:45:13.250Z` (RFC 3339), without its fraction; `nil` for
    /// any other format.
    init?(internetText text: String) {
        guard text.utf8.count <= 40, text.hasSuffix("Z") else { return nil }
        let whole = text.utf8.dropLast().prefix { $0 != UInt8(ascii: ".") }
        guard whole.count == 19 else { return nil }
        self.init(text: whole.map { $0 == UInt8(ascii: "T") ? UInt8(ascii: " ") : $0 })
    }
}
