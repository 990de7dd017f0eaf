import HTTPTransport
import Synchronization

/// What this process has learned about accounts' servers; lost when it ends.
final class WebDAVMemory: Sendable {
    /// A recently seen resource.
    struct Sighting {
        /// The path from the account's collection downwards.
        var names: [String]
        var entityTag: String?
        fileprivate var time: ContinuousClock.Instant
    }

    private struct Account {
        var takesChunks: Bool?
        var namesDestinationsByPath = false
        var hasSearch = true
        /// The number of uploads that the server confirmed without a hash.
        var unproven = 0
        var sightings: [String: Sighting] = [:]
    }

    /// If the owner renames a file within this time, one more request is needed.
    private static let sightingLifetime: Duration = .seconds(60)
    private static let maximumSightings = 100
    private static let maximumAccounts = 1_000
    /// Where a server reports no hashes, the first upload of each account is read back, and then one in this many.
    private static let sample = 64

    let passwordTurns = WebDAVPasswordTurns()
    private let accounts = Mutex<[Int64: Account]>([:])

    /// Whether the server accepts content in chunks; `nil` if that has not been tried.
    func takesChunks(_ account: Int64) -> Bool? { accounts.withLock { $0[account]?.takesChunks } }

    func remember(takesChunks: Bool, _ account: Int64) { change(account) { $0.takesChunks = takesChunks } }

    /// Whether the server may support searches; `false` after it has reported that it does not.
    func hasSearch(_ account: Int64) -> Bool { accounts.withLock { $0[account]?.hasSearch ?? true } }

    func rememberNoSearch(_ account: Int64) { change(account) { $0.hasSearch = false } }

    /// Whether the server accepts a path, but no whole URL, as the destination of a move.
    func namesDestinationsByPath(_ account: Int64) -> Bool {
        accounts.withLock { $0[account]?.namesDestinationsByPath ?? false }
    }

    func remember(namesDestinationsByPath: Bool, _ account: Int64) {
        change(account) { $0.namesDestinationsByPath = namesDestinationsByPath }
    }

    /// Whether to read back an upload that the server confirmed without a hash.
    func isProofDue(_ account: Int64) -> Bool {
        change(account) { account in
            defer { account.unproven += 1 }
            return account.unproven % Self.sample == 0
        }
    }

    /// Where the resource with that identifier was last seen.
    func sighting(of fileID: String, _ account: Int64) -> Sighting? {
        accounts.withLock { accounts in
            guard let sighting = accounts[account]?.sightings[fileID],
                sighting.time.duration(to: .now) < Self.sightingLifetime
            else { return nil }
            return sighting
        }
    }

    func remember(_ fileID: String, at names: [String], entityTag: String?, _ account: Int64) {
        change(account) { account in
            if account.sightings.count >= Self.maximumSightings { account.sightings.removeAll() }
            account.sightings[fileID] = Sighting(names: names, entityTag: entityTag, time: .now)
        }
    }

    func forget(_ fileID: String, _ account: Int64) { change(account) { $0.sightings[fileID] = nil } }

    private func change<Result>(_ key: Int64, _ body: (inout Account) -> sending Result) -> sending Result {
        accounts.withLock { accounts in
            if accounts[key] == nil, accounts.count >= Self.maximumAccounts { accounts.removeAll() }
            return body(&accounts[key, default: Account()])
        }
    }
}

/// Lets only one request of an account at a time present its password until the server has accepted or rejected it.
///
/// An owner may withdraw their password while many people look at their files. Nextcloud counts each request with it as
/// a wrong password from the address that all users of this server share. The first reply's verdict is therefore
/// shared: further requests wait for it briefly, and do not present the password after a rejection. From then on, the
/// stored credentials record the rejection (``StoredCredentials/refusal``).
///
/// One instance for each process and adapter; no lock is held during a request.
final class WebDAVPasswordTurns: Sendable {
    /// The longest time that a request waits for its turn, and that a reply counts as awaited: neither a slow server
    /// nor a long upload may delay others for longer.
    private static let patience: Duration = .milliseconds(500)
    private static let pollInterval: Duration = .milliseconds(5)
    /// If this many requests of an account wait, further ones do not.
    private static let maximumWaiting = 16
    /// How long a rejection is remembered here: longer than it usually takes to store it.
    private static let refusalLifetime: Duration = .seconds(10)
    private static let maximumAccounts = 10_000
    /// The number of replies that may be awaited at once. There may be a dozen processes.
    private static let turns = 1

    private struct Account {
        /// The start times of the requests whose replies are awaited.
        var awaited: [Int: ContinuousClock.Instant] = [:]
        var lastRequest = 0
        var waiting = 0
        /// The rejected password, and the time of the rejection.
        var refused: (password: String, at: ContinuousClock.Instant)?

        var isIdle: Bool { awaited.isEmpty && waiting == 0 && refused == nil }

        func awaits(_ turns: Int, at now: ContinuousClock.Instant) -> Bool {
            awaited.values.count { $0.duration(to: now) < WebDAVPasswordTurns.patience } >= turns
        }

        mutating func begin(at now: ContinuousClock.Instant) -> Int {
            lastRequest += 1
            awaited[lastRequest] = now
            return lastRequest
        }
    }

    private let accounts = Mutex<[Int64: Account]>([:])

    /// A transport for one account's requests with one password.
    func transport(_ transport: Transport, of account: Int64, presenting password: String, _ backoff: Backoff)
        -> Transport
    {
        transport.decorated(by: Turns(all: self, account: account, password: password, backoff: backoff))
    }

    private enum Answer {
        case begins(Int)
        case waits
        case isRefused
    }

    /// Waits for a turn.
    /// - Returns: the number of the request.
    private func begin(
        _ account: Int64, _ password: String, _ backoff: Backoff, by deadline: Deadline
    ) throws(TransportError) -> Int {
        var isWaiting = false
        let end = deadline.orAfter(Self.patience)
        while true {
            switch answer(account, password, isWaiting: isWaiting, isOver: end.hasPassed) {
            case .begins(let request): return request
            case .isRefused: throw .withheld(.busy)
            case .waits: isWaiting = true
            }
            _ = backoff.pause(Self.pollInterval, deadline: end)
        }
    }

    private func answer(_ account: Int64, _ password: String, isWaiting: Bool, isOver: Bool) -> Answer {
        let now = ContinuousClock.now
        return change(account) { state in
            if isWaiting { state.waiting -= 1 }
            if let refused = state.refused, refused.password == password {
                if refused.at.duration(to: now) < Self.refusalLifetime { return .isRefused }
                state.refused = nil
            }
            guard !isOver, state.awaits(Self.turns, at: now), state.waiting < Self.maximumWaiting else {
                return .begins(state.begin(at: now))
            }
            state.waiting += 1
            return .waits
        }
    }

    /// - Parameter status: the status of the reply, or `nil`.
    private func end(_ request: Int, _ account: Int64, _ password: String, status: Int?) {
        change(account) { state in
            state.awaited[request] = nil
            if status == 401 {
                state.refused = (password, .now)
            } else if status != nil, state.refused?.password == password {
                state.refused = nil
            }
        }
    }

    private func change<Result>(_ account: Int64, _ body: (inout Account) -> Result) -> Result {
        accounts.withLock { accounts in
            if accounts[account] == nil, accounts.count >= Self.maximumAccounts {
                accounts = accounts.filter { !$0.value.awaited.isEmpty || $0.value.waiting > 0 }
            }
            var state = accounts[account] ?? Account()
            defer { accounts[account] = state.isIdle ? nil : state }
            return body(&state)
        }
    }

    private struct Turns: TransportDecorator {
        let all: WebDAVPasswordTurns
        let account: Int64
        let password: String
        let backoff: Backoff

        /// A request until its reply has begun.
        final class Call: Sendable {
            let request: Mutex<Int?>
            init(_ request: Int) { self.request = Mutex(request) }
        }

        func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Call {
            Call(try all.begin(account, password, backoff, by: deadline))
        }

        func replied(_ call: Call, _ head: ReplyHead) { end(call, status: head.status) }

        func ended(_ call: Call, _ result: CallResult) { end(call, status: nil) }

        private func end(_ call: Call, status: Int?) {
            if let request = call.request.withLock({ $0.take() }) {
                all.end(request, account, password, status: status)
            }
        }
    }
}
