import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Store
import SyncProtocol

/// What only the database can say about a configuration: whether the accounts in it work, whether the schema is that of
/// this release, and whether the sealing keys are those of the stored tokens.
enum ConnectedCheck {
    /// - Throws: what speaks against running the server with it, as a ``CommandFailure`` or what becomes one.
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
                        + "which neither sealing.keyFile nor sealing.formerKeyFiles has: their files would be out of reach"
                }.joined(separator: "\n"))
        }
    }
}
