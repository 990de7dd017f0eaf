import FoundationEssentials
public import HTTPTransport
import UntrustedInput

/// Sends the requests of account providers and retries transient failures, where ``Backoff`` allows waiting. A thread
/// that serves requests does not wait; the reply says when to retry.
public struct AccountClient {
    private let transport: Transport
    private let deadline: Deadline
    private let backoff: Backoff
    private let background: Background?
    /// Receives a sentence about a storage that is accepted despite a property that its owner should know about.
    let remark: @Sendable (String) -> Void

    /// - Parameters:
    ///   - background: sends the second of two independent requests.
    ///   - remark: receives a sentence about a storage that is accepted despite a property that its owner should know
    ///     about.
    public init(
        transport: Transport, deadline: Deadline, backoff: Backoff, background: Background? = nil,
        remark: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.transport = transport
        self.deadline = deadline
        self.backoff = backoff
        self.background = background
        self.remark = remark
    }

    /// Access to a storage with credentials that are not stored yet, for testing them.
    /// - Parameter folderName: for storages whose folders have no identifiers.
    func access(tokens: any AccessTokens, folderName: String? = nil) -> StorageAccess {
        StorageAccess(
            transport: transport, tokens: tokens, folder: UnknownFolder(name: folderName), deadline: deadline,
            backoff: backoff)
    }

    /// The client for a server that has no known users yet (``OutgoingRequest/isUnproved``).
    public var ofUnprovedServer: AccountClient {
        AccountClient(
            transport: transport.markingUnproved(), deadline: deadline, backoff: backoff, background: background,
            remark: remark)
    }

    /// The reply to `request`, whatever its status, except 429 and 5xx, which are retried.
    ///
    /// - Parameter isRepeatable: `false` for requests that work once, such as the exchange of a code. Such a request is
    ///   sent again only if it was certainly not handled, which 429 and 503 indicate (RFC 9110, section 15.6.4) and
    ///   other errors do not.
    /// - Throws: ``AccountError/notAsked(retryAfter:detail:)`` if a request that works once was certainly never
    ///   handled, or if any other request has failed.
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
                // Only a certificate of a server named by a person is not the operator's responsibility.
                case .refused(let reason) where request.destination == .named: throw .unavailable(detail: reason)
                case .refused(let reason): throw .misconfigured(detail: reason)
                }
            }
            if mayHaveWorked && !isRepeatable { throw .unavailable(detail: detail) }
            let service = request.server ?? request.call.service.name
            guard backoff.wait(before: attempt, retryAfter: retryAfter, deadline: deadline, for: service) else {
                if isRepeatable, deadline.hasPassed { throw .timedOut }
                throw .notAsked(retryAfter: min(retryAfter ?? Pauses.usual, Pauses.longest), detail: detail)
            }
        }
    }
}

extension AccountClient {
    /// Whether the same request may get a different reply later.
    private static func mayPass(_ reply: Reply) -> Bool { reply.status == 429 || reply.status >= 500 }

    /// Sends two requests at the same time; or one after the other, if there is no free thread or half of the
    /// provider's share of calls is in use.
    ///
    /// The second request is sent early only once: if it fails for a transient reason, it is repeated after the first
    /// one, so that a provider that is down is not asked twice as often.
    /// - Parameter judge: reads the first reply; if it throws, the second reply is ignored.
    /// - Returns: the result of `judge`, and the second reply.
    /// - Throws: the first request's failure before the second one's.
    func send<Reading>(
        _ first: OutgoingRequest, beside second: OutgoingRequest, judge: (Reply) throws(AccountError) -> Reading
    ) throws(AccountError) -> (Reading, Reply) {
        let early = begin(second)
        let reading = Result { () throws(AccountError) in try judge(try send(first)) }
        // Waits even if the reply will be ignored; otherwise threads would accumulate.
        let reply = early?.outcome()
        let value = try reading.get()
        if let reply { return (value, reply) }
        return (value, try send(second))
    }

    /// - Returns: a call that has no outcome if it fails for a transient reason.
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

extension Transport {
    /// A transport that marks requests to servers named by people as requests to unproved servers.
    fileprivate func markingUnproved() -> Transport {
        func marked(_ request: OutgoingRequest) -> OutgoingRequest {
            var request = request
            request.isUnproved = request.destination == .named
            return request
        }
        return Transport(
            send: { request, deadline throws(TransportError) in try send(marked(request), by: deadline) },
            stream: { request, deadline, head, body throws(TransportError) in
                try stream(marked(request), by: deadline, head: head, body: body)
            })
    }
}

/// For storages whose folder need not be remembered.
private final class UnknownFolder: FolderMemory {
    let name: String?
    let folderID: String? = nil

    init(name: String?) { self.name = name }

    func replace(_ old: String?, by new: String) -> String { new }
    func isDueForVerification() -> Bool { false }
    func markDoubtful() {}
}

/// Reads the JSON bodies of account providers.
enum AccountJSON {
    /// - Throws: ``AccountError/unavailable(detail:)``: a provider that sends anything else is not working.
    static func decode<T: Decodable>(_ type: T.Type, _ reply: Reply) throws(AccountError) -> T {
        do {
            return try UntrustedJSON.decode(type, from: reply.body, keys: .convertFromSnakeCase)
        } catch {
            throw .unavailable(detail: "unreadable reply with status \(reply.status)")
        }
    }
}
