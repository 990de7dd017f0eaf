public import HTTPTransport
import HTTPTypes
public import JSONWebTokens
import Synchronization

/// The public keys with which one issuer signs its tokens, fetched when they are needed and remembered.
///
/// One per issuer and process, shared by its threads; the lock is never held while the issuer is asked. The last good
/// set is kept if a later fetch fails, so that an unreachable issuer locks out nobody whose key is known.
public final class PublishedKeys: Sendable {
    /// A set is cached for as long as the issuer says, but within these bounds (OpenID Connect Core, section 10.1.1).
    static let shortestLife: Duration = .seconds(300)
    static let longestLife: Duration = .seconds(86_400)
    /// An unknown key makes us ask again, but not more often: anybody can make up key names.
    static let unknownKeyInterval: Duration = .seconds(300)
    /// After a failed fetch the old set is used for this long before the issuer is asked again.
    static let retryInterval: Duration = .seconds(30)
    /// Issuers' sets have 1 to 20 KB.
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
    ///   - service: the issuer's.
    ///   - url: the issuer's `jwks_uri`.
    ///   - algorithms: what the issuer signs with; tokens signed otherwise are rejected.
    ///   - now: the clock; tests pass one that they control.
    public init(
        of service: ExternalService, at url: String, algorithms: Set<JSONWebToken.Algorithm> = [.rs256],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.service = service
        self.url = url
        self.algorithms = algorithms
        self.now = now
    }

    /// Checks the signature of `token` and hands out the bytes of its payload; the caller must check the claims.
    ///
    /// - Throws: ``AccountError/rejected`` if the token is not the issuer's; ``AccountError/unavailable(detail:)`` or
    ///   ``AccountError/timedOut`` if that cannot be determined because the issuer does not provide its keys.
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

    /// The keys to use, and whether they were fetched just now.
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

    /// Whether an unknown key is reason enough to fetch; counts as an attempt if it is.
    /// - Throws: ``AccountError/unavailable(detail:)`` if it would be, but the issuer could not be asked a moment ago.
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
