public import HTTPTransport

/// Sends the requests of account providers and retries those that failed for a transient reason.
public struct AccountClient {
    private let transport: Transport
    private let deadline: Deadline
    private let backoff: Backoff
    private let background: Background?

    /// - Parameter background: where the second of two requests is sent that need not wait for each other.
    public init(transport: Transport, deadline: Deadline, backoff: Backoff, background: Background? = nil) {
        self.transport = transport
        self.deadline = deadline
        self.backoff = backoff
        self.background = background
    }

    /// The means of a storage with credentials that nobody has stored yet, to try them out.
    func access(tokens: any AccessTokens) -> StorageAccess {
        StorageAccess(transport: transport, tokens: tokens, folder: NoFolder(), deadline: deadline, backoff: backoff)
    }

    /// The reply to `request`, whatever its status, except 429 and 5xx, which are retried.
    ///
    /// - Parameter isRepeatable: `false` for requests that work once, such as the exchange of a code: then only a
    ///   request that was certainly not handled is sent again, which 429 and 503 indicate (RFC 9110, section 15.6.4)
    ///   and other errors do not.
    /// - Throws: ``AccountError/notAsked(detail:)`` if a request that works once was certainly never handled.
    func send(_ request: OutgoingRequest, isRepeatable: Bool = true) throws(AccountError) -> Reply {
        var request = request
        request.isRepeatable = isRepeatable
        var attempt = 0
        while true {
            attempt += 1
            let detail: String
            var retryAfter: Duration?
            var mayHaveWorked = false
            do {
                let reply = try transport.send(request, by: deadline)
                guard Self.mayPass(reply) else { return reply }
                detail = "status \(reply.status)"
                retryAfter = reply.head.retryAfter
                mayHaveWorked = reply.status != 429 && reply.status != 503
            } catch {
                switch error {
                case .notSent: detail = "no connection"
                case .interrupted: (detail, mayHaveWorked) = ("connection lost", true)
                case .timedOut: throw .timedOut
                case .withheld(let reason): throw .withheld(reason)
                case .replyTooLarge, .cancelled: throw .unavailable(detail: "\(error)")
                case .forbiddenAddress: throw .serverNotAllowed
                // Only the certificate of a server that a person names is not the operator's business.
                case .refused(let reason) where request.destination == .named: throw .unavailable(detail: reason)
                case .refused(let reason): throw .misconfigured(detail: reason)
                }
            }
            if mayHaveWorked && !isRepeatable { throw .unavailable(detail: detail) }
            guard backoff.wait(before: attempt, retryAfter: retryAfter, deadline: deadline) else {
                if !isRepeatable { throw .notAsked(detail: detail) }
                if deadline.hasPassed { throw .timedOut }
                throw .unavailable(detail: detail)
            }
        }
    }
}

extension AccountClient {
    /// Whether the same request may have another reply later.
    private static func mayPass(_ reply: Reply) -> Bool { reply.status == 429 || reply.status >= 500 }

    /// Sends two requests at the same time, or, if there is no other thread or the provider's share of calls is half used,
    /// one after the other.
    ///
    /// The second one is sent early just once: if that fails for a transient reason, it follows the first one, so that a
    /// provider that is down is not asked twice as often.
    /// - Parameter judge: reads the first reply; if it throws, the second reply does not count.
    /// - Returns: what `judge` has read, and the second reply.
    /// - Throws: the first one's failure before the second one's.
    func send<Reading>(
        _ first: OutgoingRequest, beside second: OutgoingRequest, judge: (Reply) throws(AccountError) -> Reading
    ) throws(AccountError) -> (Reading, Reply) {
        let early = begin(second)
        let reading = Result { () throws(AccountError) in try judge(try send(first)) }
        // Waited for also if it does not count: threads would add up.
        let reply = early?.outcome()
        let value = try reading.get()
        if let reply { return (value, reply) }
        return (value, try send(second))
    }

    /// - Returns: a call without an outcome if it fails for a transient reason.
    private func begin(_ request: OutgoingRequest) -> PendingCall<Reply?>? {
        guard let background else { return nil }
        var early = request
        early.isEarly = true
        let passed = PassedToThread((transport: transport, request: early, deadline: deadline))
        return try? PendingCall(on: background) {
            let (transport, request, deadline) = passed.value
            guard let reply = try? transport.send(request, by: deadline), !Self.mayPass(reply) else { return nil }
            return reply
        }
    }
}

/// Of storages that need no folder to be remembered.
private final class NoFolder: FolderMemory {
    let name: String? = nil
    let folderID: String? = nil
    func replace(_ old: String?, by new: String) -> String { new }
    func isDueForVerification() -> Bool { false }
    func markDoubtful() {}
}
