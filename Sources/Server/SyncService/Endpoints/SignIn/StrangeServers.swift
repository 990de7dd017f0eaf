import Synchronization

/// Limits how many servers without known users one network can make this server contact.
///
/// If any public server is allowed, callers can make up names: each costs a lookup, and possibly seconds of a thread. A
/// server at which somebody has signed in, or at which the caller would be a known user, does not count. One per
/// process, shared by its threads.
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

    /// Somebody has signed in at `server`.
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
