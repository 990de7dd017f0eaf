import Synchronization

/// The network that a request comes from, as far as one caller can be distinguished from another.
///
/// One IPv4 address, or the 64-bit network prefix of an IPv6 address: a device can take any address within it (RFC
/// 4291, section 2.5.4).
public struct ClientNetwork: Hashable, Sendable {
    private let text: String

    /// Represents networks that are not distinguished.
    static let others = ClientNetwork(address: "others")

    /// Parses the address that the web server passes; invalid text counts as one network, that of all unknown callers.
    public init(address: String?) {
        let address = address ?? ""
        guard address.contains(":") else {
            text = address
            return
        }
        // "::ffff:192.0.2.1" is an IPv4 address (RFC 4291, section 2.5.5.2).
        if let last = address.split(separator: ":").last, last.contains(".") {
            text = String(last)
            return
        }
        let halves = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        var groups = Self.groups(halves[0])
        if halves.count == 2 {
            let tail = Self.groups(halves[1])
            groups += Array(repeating: 0, count: max(0, 8 - groups.count - tail.count)) + tail
        }
        text = groups.prefix(4).map { String($0, radix: 16) }.joined(separator: ":")
    }

    private static func groups(_ text: Substring) -> [UInt16] {
        text.split(separator: ":").map { UInt16($0, radix: 16) ?? 0 }
    }
}

extension ClientNetwork: CustomStringConvertible {
    /// The address, or the prefix.
    public var description: String { text.isEmpty ? "-" : text }
}

/// Limits how often one network can make this server ask providers about tokens that turn out to be invalid.
///
/// Each network has an allowance of one minute's failures: one unit is taken before a provider is asked and returned
/// unless the provider rejects the token, so that requests in progress also count. The allowance is refilled at a
/// constant rate. One per process, shared by its threads.
public final class FailedSignIns: Sendable {
    private struct Allowance {
        var left: Double
        var asOf: ContinuousClock.Instant
    }

    /// Maximum number of networks stored; beyond it, those with the most left are evicted.
    private static let maximumNetworks = 50_000

    private let perMinute: Double
    private let now: @Sendable () -> ContinuousClock.Instant
    private let allowances = Mutex<[ClientNetwork: Allowance]>([:])

    /// - Parameters:
    ///   - perMinute: failures that one network may cause in a minute; also the maximum at once.
    ///   - now: the clock; tests pass one that they control.
    public init(perMinute: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.perMinute = Double(perMinute)
        self.now = now
    }

    /// Number of networks stored.
    var networksKnown: Int { allowances.withLock { $0.count } }

    /// Takes one unit of the network's allowance.
    /// - Returns: how long to wait if none is left; `nil` if the provider may be asked.
    func take(from network: ClientNetwork) -> Duration? {
        let now = now()
        return allowances.withLock { allowances in
            var allowance = present(allowances[network], at: now)
            guard allowance.left >= 1 else { return .seconds((1 - allowance.left) * 60 / perMinute) }
            allowance.left -= 1
            if allowances[network] == nil, allowances.count >= Self.maximumNetworks { makeRoom(in: &allowances, now) }
            allowances[network] = allowance
            return nil
        }
    }

    /// Returns a unit to the allowance: the token was valid, or the provider gave no answer.
    func refund(to network: ClientNetwork) {
        let now = now()
        allowances.withLock { allowances in
            var allowance = present(allowances[network], at: now)
            allowance.left = min(perMinute, allowance.left + 1)
            allowances[network] = allowance.left < perMinute ? allowance : nil
        }
    }

    private func present(_ allowance: Allowance?, at now: ContinuousClock.Instant) -> Allowance {
        guard let allowance else { return Allowance(left: perMinute, asOf: now) }
        let seconds = (now - allowance.asOf) / .seconds(1)
        return Allowance(left: min(perMinute, allowance.left + seconds * perMinute / 60), asOf: now)
    }

    /// Evicts the networks with the most left, half of them or more.
    private func makeRoom(in allowances: inout [ClientNetwork: Allowance], _ now: ContinuousClock.Instant) {
        let left = allowances.mapValues { present($0, at: now).left }
        let median = left.values.sorted()[left.count / 2]
        allowances = allowances.filter { left[$0.key, default: perMinute] < median }
    }
}

/// Limits how many servers without known users one network can make this server contact.
///
/// If any public server is allowed, callers can make up names: each costs a lookup, and may occupy a thread for
/// seconds. A server at which somebody has signed in, or at which the caller would be a known user, does not count. One
/// per process, shared by its threads.
public final class StrangeServers: Sendable {
    /// How long a server named by a network counts.
    static let window: Duration = .seconds(600)
    /// The maximum number of servers remembered because somebody has signed in there.
    private static let maximumProved = 10_000
    /// The maximum number of networks remembered; beyond it, those that have named the fewest servers are dropped.
    static let maximumNetworks = 20_000

    private struct State {
        var proved: Set<String> = []
        /// How long the servers named by each network count, by the hash of their address.
        var named: [ClientNetwork: [Int: ContinuousClock.Instant]] = [:]
    }

    private let perNetwork: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - perNetwork: how many servers one network may name within ``window``.
    ///   - now: the clock; tests pass one that they control.
    public init(perNetwork: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.perNetwork = max(1, min(perNetwork, 1_000))
        self.now = now
    }

    /// Number of networks stored.
    var networksKnown: Int { state.withLock { $0.named.count } }

    /// Whether somebody has signed in at `server`.
    func isProved(_ server: String) -> Bool { state.withLock { $0.proved.contains(server) } }

    /// Records that somebody has signed in at `server`.
    func prove(_ server: String) {
        state.withLock { state in
            if state.proved.count >= Self.maximumProved { state.proved.removeFirst() }
            state.proved.insert(server)
        }
    }

    /// Counts a server that a network names, once within ``window``.
    /// - Returns: how long to wait if it has named too many others; `nil` if this server may be contacted.
    func take(_ server: String, from network: ClientNetwork) -> Duration? {
        let now = now()
        return state.withLock { state in
            var servers = (state.named[network] ?? [:]).filter { $0.value > now }
            if servers[server.hashValue] == nil {
                if servers.count >= perNetwork, let first = servers.values.min() { return first - now }
                if state.named[network] == nil, state.named.count >= Self.maximumNetworks {
                    Self.makeRoom(in: &state.named, at: now)
                }
                servers[server.hashValue] = now + Self.window
            }
            state.named[network] = servers
            return nil
        }
    }

    /// Drops the networks that have recently named the fewest servers, half of them or more.
    private static func makeRoom(
        in named: inout [ClientNetwork: [Int: ContinuousClock.Instant]], at now: ContinuousClock.Instant
    ) {
        let counts = named.mapValues { servers in servers.values.count { $0 > now } }
        let median = counts.values.sorted()[counts.count / 2]
        var kept = named.filter { counts[$0.key, default: 0] > median }
        if kept.count > named.count / 2 { kept = [:] }
        named = kept
    }
}

/// Limits the log lines that refused requests from one network can cause: a number of lines per minute, then one line
/// with the number of those omitted.
///
/// Successful requests and defects are always logged. One per process, shared by its threads.
public final class RefusalLog: Sendable {
    typealias Instant = ContinuousClock.Instant

    static let window: Duration = .seconds(60)
    /// The maximum number of networks counted; those beyond it count as one network.
    static let maximumNetworks = 20_000

    /// The refused requests from one network that were not logged individually.
    public struct Omission: Sendable, Equatable {
        public var network: ClientNetwork
        public var count: Int
    }

    private struct Window {
        let began: Instant
        var refusals = 0

        func omitted(beyond lines: Int) -> Int { max(0, refusals - lines) }
    }

    private let lines: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let windows = Mutex<[ClientNetwork: Window]>([:])
    /// Omissions in windows that were replaced before they were reported.
    private let ended = Mutex<[ClientNetwork: Int]>([:])

    /// - Parameters:
    ///   - lines: refused requests from one network that are logged individually, within ``window``.
    ///   - now: the clock; tests pass one that they control.
    public init(
        linesPerMinute lines: Int = 60, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.lines = lines
        self.now = now
    }

    /// Whether refusals of the network are currently omitted.
    func isQuiet(about network: ClientNetwork) -> Bool {
        let now = now()
        return windows.withLock { windows in
            guard let window = windows[Self.counted(network, in: windows)] else { return false }
            return window.refusals >= lines && now < window.began + Self.window
        }
    }

    /// Counts one refusal.
    /// - Returns: whether to log it.
    func note(from network: ClientNetwork) -> Bool {
        let now = now()
        let (isLogged, former) = windows.withLock { windows -> (Bool, (ClientNetwork, Int)?) in
            let network = Self.counted(network, in: windows)
            var former: (ClientNetwork, Int)?
            var window = windows[network] ?? Window(began: now)
            if now >= window.began + Self.window {
                let omitted = window.omitted(beyond: lines)
                if omitted > 0 { former = (network, omitted) }
                window = Window(began: now)
            }
            window.refusals += 1
            windows[network] = window
            return (window.refusals <= lines, former)
        }
        if let (network, count) = former { ended.withLock { $0[network, default: 0] += count } }
        return isLogged
    }

    /// The omissions in windows that have ended, each reported once. Call regularly, and at the end.
    /// - Parameter isLast: whether to include windows that have not ended.
    public func omissions(isLast: Bool = false) -> [Omission] {
        let now = now()
        var counts = ended.withLock { ended in
            defer { ended = [:] }
            return ended
        }
        windows.withLock { windows in
            windows = windows.filter { network, window in
                guard isLast || now >= window.began + Self.window else { return true }
                let omitted = window.omitted(beyond: lines)
                if omitted > 0 { counts[network, default: 0] += omitted }
                return false
            }
        }
        return counts.map { Omission(network: $0.key, count: $0.value) }
    }

    private static func counted(_ network: ClientNetwork, in windows: [ClientNetwork: Window]) -> ClientNetwork {
        windows[network] == nil && windows.count >= maximumNetworks ? .others : network
    }
}
