import Synchronization

/// Limits how often one network can make this server ask providers about tokens that turn out to be invalid.
///
/// Each network has an allowance of one minute's failures: one unit is taken before a provider is asked and returned
/// unless the provider rejects the token, so that requests in progress count too. The allowance is refilled at a
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
