import Synchronization

/// Limits the log lines that refused requests of one network can cause: a number of lines per minute, then one line
/// with the number of those omitted.
///
/// Successful requests and defects are always logged. One per process, shared by its threads.
public final class RefusalLog: Sendable {
    typealias Instant = ContinuousClock.Instant

    static let window: Duration = .seconds(60)
    /// The maximum number of networks counted; those beyond it count as one network.
    static let maximumNetworks = 20_000

    /// The refusals of one network that were not logged individually.
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
    ///   - lines: refusals of one network that are logged individually, within ``window``.
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
