import Synchronization

/// Limits how often one network makes this server ask providers about tokens that turn out to be no good.
///
/// Each network has as many questions as may fail in a minute; one is taken before a provider is asked and given back
/// unless the provider rejects the token, so that questions under way count too. Failures are forgiven with time, evenly.
/// One per process, shared by its threads.
public final class FailedSignIns: Sendable {
    private struct Allowance {
        var left: Double
        var asOf: ContinuousClock.Instant
    }

    /// Networks that are remembered; beyond it those that have most left make room.
    private static let maximumNetworks = 50_000

    private let perMinute: Double
    private let now: @Sendable () -> ContinuousClock.Instant
    private let allowances = Mutex<[ClientNetwork: Allowance]>([:])

    /// - Parameters:
    ///   - perMinute: failures that one network may cause in a minute; also how many at once.
    ///   - now: the clock; tests pass one that they move.
    public init(perMinute: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.perMinute = Double(perMinute)
        self.now = now
    }

    /// Networks of which anything is remembered.
    var networksKnown: Int { allowances.withLock { $0.count } }

    /// Takes one question.
    /// - Returns: how long to wait if there is none left; `nil` if the provider may be asked.
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

    /// Gives a question back: the token was good, or the provider did not say.
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

    /// Drops the networks that have most left, half of them or more.
    private func makeRoom(in allowances: inout [ClientNetwork: Allowance], _ now: ContinuousClock.Instant) {
        let left = allowances.mapValues { present($0, at: now).left }
        let median = left.values.sorted()[left.count / 2]
        allowances = allowances.filter { left[$0.key, default: perMinute] < median }
    }
}
