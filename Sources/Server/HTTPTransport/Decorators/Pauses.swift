import HTTPTypes
import Synchronization

/// Makes no calls to a sign-in service for as long as it requests, and answers callers at once in the meantime.
///
/// A refusal (429, or 503 with `Retry-After`) first concerns the person whose token was refused: requests with that
/// token are withheld. Once the service has refused several people without serving anybody in between, the refusals
/// concern the whole app, and all requests for the same purpose are withheld. So a person who provokes refusals of
/// their own token cannot lock out anybody else.
///
/// Once a server without known users (``OutgoingRequest/isUnproved``) cannot be reached, it gets no requests for a
/// while: the next caller who names it gets the same answer, without a lookup of its name.
///
/// This affects only calls that identify people and obtain tokens: a storage's limit applies to one person, and its
/// callers wait in counted places (``Backoff``). One per process, shared by its threads; no lock is held during a call.
public final class Pauses: TransportDecorator {
    typealias Instant = ContinuousClock.Instant

    /// How many people a service must refuse in a row to count as refusing everybody.
    static let callersToPauseAll = 3
    /// The maximum pause for a service, whatever it requests.
    public static let longest: Duration = .seconds(60)
    /// The same for a pause for everybody, since the service may recover earlier.
    static let longestForAll: Duration = .seconds(30)
    /// The pause for a service that does not state one.
    public static let usual: Duration = .seconds(2)
    /// The pause for an unreachable server without known users.
    static let ofUnreachableServer: Duration = .seconds(30)
    /// The maximum number of services and servers remembered.
    static let maximumLines = 4096
    /// The maximum number of people remembered for each.
    static let maximumCallers = 1024

    /// A call in progress.
    public struct SignInCall {
        fileprivate var subject: Subject
        fileprivate var caller: Int
        fileprivate var isUnproved: Bool
        fileprivate var start: ContinuousClock.Instant
    }

    /// A subject with a separate limit.
    fileprivate struct Subject: Hashable {
        var service: String
        var operation: ProviderCall.Operation
    }

    private struct Line {
        /// The time until which each caller's requests are withheld.
        var callers: [Int: Instant] = [:]
        /// The time until which all requests are withheld.
        var all: Instant?
        /// The callers refused since the last success.
        var streak: Set<Int> = []
        var lastRefusal: Instant?

        func isOver(at now: Instant) -> Bool {
            (all ?? now) <= now && streak.isEmpty && callers.allSatisfy { $0.value <= now }
        }
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let lines = Mutex<[Subject: Line]>([:])

    /// - Parameter now: the clock; tests pass one that they control.
    public init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    /// - Throws: ``TransportError/withheld(_:)`` with ``WithheldCall/paused(retryAfter:)``.
    public func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> SignInCall? {
        guard request.call.operation.isOfSignIn else { return nil }
        let subject = Subject(
            service: request.server ?? request.call.service.name, operation: request.call.operation)
        let caller = Self.caller(of: request)
        let now = now()
        let until = lines.withLock { lines -> Instant? in
            guard let line = lines[subject] else { return nil }
            return [line.all, line.callers[caller]].compactMap(\.self).max()
        }
        if let until, until > now { throw .withheld(.paused(retryAfter: until - now)) }
        return SignInCall(subject: subject, caller: caller, isUnproved: request.isUnproved, start: now)
    }

    public func replied(_ call: SignInCall?, _ head: ReplyHead) {
        guard let call else { return }
        switch head.status {
        case 429: refused(call, for: head.retryAfter ?? Self.usual, concernsCaller: true)
        case 503: refused(call, for: head.retryAfter ?? Self.usual, concernsCaller: head.retryAfter != nil)
        case ..<500: served(call)
        default: break
        }
    }

    public func ended(_ call: SignInCall?, _ result: CallResult) {
        guard let call, call.isUnproved, case .failed(let error, head: nil) = result else { return }
        switch error {
        case .notSent, .interrupted, .timedOut, .refused, .forbiddenAddress:
            let until = now() + Self.ofUnreachableServer
            change(call.subject) { $0.all = until }
        case .replyTooLarge, .cancelled, .withheld: break
        }
    }

    private func refused(_ call: SignInCall, for duration: Duration, concernsCaller: Bool) {
        let now = now()
        let duration = min(duration, Self.longest)
        change(call.subject) { line in
            if line.callers.count >= Self.maximumCallers { line.callers = line.callers.filter { $0.value > now } }
            if concernsCaller, line.callers.count < Self.maximumCallers { line.callers[call.caller] = now + duration }
            line.lastRefusal = now
            line.streak.insert(call.caller)
            guard line.streak.count >= Self.callersToPauseAll else { return }
            line.all = max(line.all ?? now, now + min(duration, Self.longestForAll))
            line.streak = []
        }
    }

    private func served(_ call: SignInCall) {
        lines.withLock { lines in
            guard var line = lines[call.subject] else { return }
            // A call that began earlier says nothing about the time after the refusal.
            if line.lastRefusal.map({ call.start >= $0 }) ?? true {
                line.all = nil
                line.streak = []
            }
            line.callers[call.caller] = nil
            lines[call.subject] = line.isOver(at: now()) ? nil : line
        }
    }

    private func change(_ subject: Subject, _ body: (inout Line) -> Void) {
        let now = now()
        lines.withLock { lines in
            if lines[subject] == nil, lines.count >= Self.maximumLines {
                lines = lines.filter { !$0.value.isOver(at: now) }
                guard lines.count < Self.maximumLines else { return }
            }
            body(&lines[subject, default: Line()])
        }
    }

    /// Identifies whose limit a request may count against, hashed so that no token can be recovered; each process has
    /// its own seed.
    private static func caller(of request: OutgoingRequest) -> Int {
        var hasher = Hasher()
        if let authorization = request.headers[.authorization], authorization.hasPrefix("Bearer ") {
            hasher.combine(authorization)
        } else {
            hasher.combine(request.url)
            hasher.combine(request.body?.bytes)
            hasher.combine(request.headers[.authorization])
        }
        return hasher.finalize()
    }
}

extension ProviderCall.Operation {
    /// Whether it identifies a person or handles their tokens.
    var isOfSignIn: Bool {
        switch self {
        case .identity, .token, .refresh: true
        case .revoke, .metadata, .download, .upload, .delete, .push: false
        }
    }
}
