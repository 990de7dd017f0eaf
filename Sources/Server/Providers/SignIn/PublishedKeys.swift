public import HTTPTransport
import HTTPTypes
public import JSONWebTokens
import Synchronization

/// The public keys with which one issuer signs its tokens, fetched when needed and cached.
///
/// One instance per issuer and process, shared by its threads; no lock is held while the issuer is asked. If a fetch
/// fails, the last good set remains in use, so that an unreachable issuer locks out nobody whose key is known.
public final class PublishedKeys: Sendable {
    /// A set is cached for as long as the issuer allows, within these bounds (OpenID Connect Core, section 10.1.1).
    static let shortestLife: Duration = .seconds(300)
    static let longestLife: Duration = .seconds(86_400)
    /// An unknown key causes a new fetch, at most once in this interval, since anybody can invent key names.
    static let unknownKeyInterval: Duration = .seconds(300)
    /// After a failed fetch, the old set is used for this long before the issuer is asked again.
    static let retryInterval: Duration = .seconds(30)
    /// Sets of issuers have 1 to 20 KB.
    private static let replyLimitBytes = 256 << 10

    private struct Memory {
        var keys: JSONWebKeySet?
        var fetched: ContinuousClock.Instant?
        var expires: ContinuousClock.Instant?
        var lastAttempt: ContinuousClock.Instant?
    }

    private let service: ExternalService
    private let url: String
    private let algorithms: Set<JSONWebToken.Algorithm>
    private let now: @Sendable () -> ContinuousClock.Instant
    private let memory = Mutex(Memory())

    /// - Parameters:
    ///   - service: the issuer's service.
    ///   - url: the issuer's `jwks_uri`.
    ///   - algorithms: the issuer's signature algorithms; tokens signed with others are rejected.
    ///   - now: the clock, for tests to control.
    public init(
        of service: ExternalService, at url: String, algorithms: Set<JSONWebToken.Algorithm> = [.rs256],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.service = service
        self.url = url
        self.algorithms = algorithms
        self.now = now
    }

    /// Verifies the signature of `token` and returns the bytes of its payload; the caller must check the claims.
    ///
    /// - Throws: ``AccountError/rejected`` if the token was not signed by the issuer;
    ///   ``AccountError/unavailable(detail:)`` or ``AccountError/timedOut`` if that cannot be determined because the
    ///   issuer does not provide its keys.
    public func verifiedPayload(of token: String, through client: AccountClient) throws(AccountError) -> [UInt8] {
        let (keys, isFresh) = try presentKeys(through: client)
        do throws(JSONWebTokenError) {
            return try JSONWebToken.verifiedPayload(of: token, with: keys, algorithms: algorithms)
        } catch {
            guard error == .unknownKey, !isFresh, try mayAskAgain() else { throw .rejected }
        }
        let newer = try fetch(through: client)
        do throws(JSONWebTokenError) {
            return try JSONWebToken.verifiedPayload(of: token, with: newer, algorithms: algorithms)
        } catch {
            throw .rejected
        }
    }

    /// The current keys, and whether they have just been fetched.
    private func presentKeys(through client: AccountClient) throws(AccountError) -> (JSONWebKeySet, isFresh: Bool) {
        let now = now()
        let (known, isDue) = memory.withLock { memory in
            let isOld = memory.expires.map { $0 <= now } ?? true
            let isSoonAfterFailure = memory.lastAttempt.map { now < $0 + Self.retryInterval } ?? false
            let isDue = memory.keys == nil || isOld && !isSoonAfterFailure
            if isDue { memory.lastAttempt = now }
            return (memory.keys, isDue)
        }
        if let known, !isDue { return (known, false) }
        do {
            return (try fetch(through: client), true)
        } catch {
            guard let known else { throw error }
            return (known, false)
        }
    }

    /// Whether an unknown key justifies a new fetch; if so, this counts as an attempt.
    /// - Throws: ``AccountError/notAsked(retryAfter:detail:)`` if it does, but the issuer has just been unreachable.
    private func mayAskAgain() throws(AccountError) -> Bool {
        enum Answer { case yes, keysAreRecent, attemptIsRecent }
        let now = now()
        let answer = memory.withLock { memory -> Answer in
            if let fetched = memory.fetched, now < fetched + Self.unknownKeyInterval { return .keysAreRecent }
            if let last = memory.lastAttempt, now < last + Self.retryInterval { return .attemptIsRecent }
            memory.lastAttempt = now
            return .yes
        }
        switch answer {
        case .yes: return true
        case .keysAreRecent: return false
        case .attemptIsRecent:
            throw .notAsked(retryAfter: Pauses.usual, detail: "keys could not be fetched a moment ago")
        }
    }

    private func fetch(through client: AccountClient) throws(AccountError) -> JSONWebKeySet {
        let reply = try client.send(
            OutgoingRequest(service, .identity, .get, url, replyLimitBytes: Self.replyLimitBytes))
        guard reply.status == 200 else { throw .unavailable(detail: "keys: status \(reply.status)") }
        let keys: JSONWebKeySet
        do {
            keys = try JSONWebKeySet(json: reply.body)
        } catch {
            throw .unavailable(detail: "keys: unreadable reply")
        }
        let now = now()
        memory.withLock { memory in
            memory.keys = keys
            memory.fetched = now
            memory.expires = now + Self.life(reply.head)
        }
        return keys
    }

    /// How long a reply may be used (RFC 9111, section 5.2.2.1), within our bounds.
    static func life(_ head: ReplyHead) -> Duration {
        let directives = (head.headers[.cacheControl] ?? "").split(separator: ",")
        for directive in directives {
            let words = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
            if words.count == 2, words[0].lowercased() == "max-age", let seconds = Int64(words[1]), seconds >= 0 {
                return min(max(.seconds(seconds), shortestLife), longestLife)
            }
        }
        return shortestLife
    }
}
