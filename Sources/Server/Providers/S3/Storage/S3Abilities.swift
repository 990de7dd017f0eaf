import Synchronization

/// Features that services were found not to support; known to this process only, until it ends.
///
/// Such services reject a request with the feature instead of ignoring it; the request is then repeated without it.
final class S3Abilities: Sendable {
    enum Ability: Hashable {
        /// `If-None-Match` in requests that create an object: not supported by Backblaze B2.
        case conditions
        /// `x-amz-checksum-…` for the parts of a multipart upload: not supported by Backblaze B2, nor, with SHA-256, by
        /// Cloudflare R2.
        case checksums
    }

    /// The error codes of these rejections.
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
