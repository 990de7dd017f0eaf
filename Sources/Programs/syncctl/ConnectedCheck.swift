import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Store
import SyncProtocol

/// Checks a configuration against the database: whether its accounts work, whether the schema matches this release, and
/// whether the sealing keys open the stored tokens.
enum ConnectedCheck {
    /// - Throws: the reason why the server cannot run with it, as a ``CommandFailure`` or an error that becomes one.
    static func run(_ options: CommonOptions) throws {
        let installation = try Installation(options)
        for role in ServerRole.allCases {
            guard let settings = installation.configuration.roleAccounts[role] else { continue }
            do { _ = try Connection(settings) } catch {
                guard let failure = CommandFailure(error) else { throw error }
                throw CommandFailure(failure.status, "the role \(role.rawValue), \(settings): \(failure.message)")
            }
        }
        try RoleAccounts.requireRights(installation.configuration)
        let keys = try installation.keys()
        let missing = try installation.store.snapshot { try $0.sealingKeys(missingIn: keys) }
        guard missing.isEmpty else {
            throw CommandFailure(
                .configuration,
                missing.map {
                    "the tokens of \($0.users) \($0.users == 1 ? "user" : "users") are sealed with the key \($0.key), "
                        + "which is neither in sealing.keyFile nor in sealing.formerKeyFiles: their files would be "
                        + "inaccessible"
                }.joined(separator: "\n"))
        }
    }
}
