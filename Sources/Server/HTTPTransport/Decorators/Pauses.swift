import HTTPTypes
import Synchronization

/// Leaves a sign-in service alone for as long as it asks, and answers the callers at once meanwhile.
///
/// A refusal (429, or 503 with `Retry-After`) concerns first of all the person whose token was refused: requests with that
/// token are withheld. Once the service has refused several people without serving anybody in between, it means the app as a
/// whole, and all requests for the same purpose are withheld. So a person who provokes refusals of their own token shuts out
/// nobody else.
///
/// Once a server at which nobody is known (``OutgoingRequest/isUnproved``) cannot be reached, it gets no requests for a while: the
/// next caller who names it gets the same answer, without a lookup of its name.
///
/// Only calls that identify people and obtain tokens are concerned: a limit of a storage is a person's, and its callers wait
/// in places that are counted (``Backoff``). One per process, shared by its threads; no lock is held during a call.
public final class Pauses: TransportDecorator {
    typealias Instant = ContinuousClock.Instant

    /// How many people a service refuses in a row before it counts as refusing everybody.
    static let callersToPauseAll = 3
    /// How long a service is left alone at most, whatever it asks for.
    public static let longest: Duration = .seconds(60)
    /// The same for everybody: it may serve again earlier.
    static let longestForAll: Duration = .seconds(30)
    /// How long a service is left alone that does not say how long.
    public static let usual: Duration = .seconds(2)
    /// How long a server that nobody is known at is left alone once it cannot be reached.
    static let ofUnreachableServer: Duration = .seconds(30)
    /// Services and servers that are remembered.
    static let maximumLines = 4096
    /// People that are remembered of each.
    static let maximumCallers = 1024

    /// A call in progress.
    public struct SignInCall {
        fileprivate var subject: Subject
        fileprivate var caller: Int
        fileprivate var isUnproved: Bool
        fileprivate var start: ContinuousClock.Instant
    }

    /// What has a limit of its own.
    fileprivate struct Subject: Hashable {
        var service: String
        var operation: ProviderCall.Operation
    }

    private struct Line {
        /// Until when requests of a caller are withheld.
        var callers: [Int: Instant] = [:]
        /// Until when all are.
        var all: Instant?
        /// Who was refused since the last success.
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
            // One that began before says nothing about afterwards.
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

    /// Whose limit a request may count against, in a form from which no token can be recovered; its seed is this process's
    /// own.
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
    /// Whether it is about who somebody is, or about their tokens.
    var isOfSignIn: Bool {
        switch self {
        case .identity, .token, .refresh: true
        case .revoke, .metadata, .download, .upload, .delete, .push: false
        }
    }
}
