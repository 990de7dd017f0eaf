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
