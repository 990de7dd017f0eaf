import Synchronization

/// What accounts' services turned out not to have, as this process has found out; forgotten at its end.
///
/// They refuse such a request instead of ignoring what it asks for, and get it once more without that.
final class S3Abilities: Sendable {
    enum Ability: Hashable {
        /// `If-None-Match` of what makes an object: Backblaze B2 has not.
        case conditions
        /// `x-amz-checksum-…` of the parts of a multipart upload: Backblaze B2 has not, nor, with SHA-256, Cloudflare R2.
        case checksums
    }

    /// The codes of these refusals.
    static let refusals: Set = ["NotImplemented", "InvalidArgument"]
    private static let maximumAccounts = 1_000

    private let missing = Mutex<[Int64: Set<Ability>]>([:])

    func has(_ ability: Ability, _ account: Int64) -> Bool {
        missing.withLock { $0[account]?.contains(ability) != true }
    }

    func rememberLack(of ability: Ability, _ account: Int64) {
        missing.withLock { accounts in
            if accounts[account] == nil, accounts.count >= Self.maximumAccounts { accounts.removeAll() }
            accounts[account, default: []].insert(ability)
        }
    }
}
