import ArgumentParser
import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Store
import SyncProtocol

/// Brings the database's schema to the version that this release needs.
struct Migrate: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Brings the database's schema to the version that this release needs.",
        discussion: """
            Can be repeated at any time, and run on several hosts at once: one migrates, the others report that. If \
            the roles have their own accounts (database.roles), it also grants each the rights that it needs, and \
            revokes all others.
            """)

    @OptionGroup var options: CommonOptions

    @Flag(help: "Change nothing; fail if the schema or the rights of a role's account do not match this release.")
    var check = false

    func report() throws -> any Report {
        let configuration = try ServerConfiguration(readingFrom: options.file.path)
        ClientLibrary.initialize()
        var runner = try MigrationRunner(configuration.database, leaseOwner: try RandomBytes.uuidText())
        let applied = check ? [] : try runner.migrate()
        try runner.verify()
        if check { try RoleAccounts.requireRights(configuration) }
        let accounts = check ? [] : try RoleAccounts.settle(configuration)
        return SchemaReport(applied: applied, accounts: accounts, schema: MigrationRunner.newestStep)
    }
}

/// The database accounts of the roles, if the configuration has any.
enum RoleAccounts {
    /// Grants each account the privileges that its role needs, and revokes other table privileges.
    /// - Parameter isRebuilding: whether a rebuild is about to begin, or has ended; `nil` if neither.
    /// - Returns: the accounts whose privileges have changed.
    /// - Throws: ``StoreError``.
    @discardableResult
    static func settle(_ configuration: ServerConfiguration, isRebuilding: Bool? = nil) throws -> [String] {
        var changed: [String] = []
        for rights in try rights(configuration, isRebuilding: isRebuilding)
        where try rights.settle(as: configuration.database) {
            changed.append(rights.account)
        }
        return changed
    }

    /// - Throws: ``CommandFailure`` if an account lacks privileges; ``StoreError``.
    static func requireRights(_ configuration: ServerConfiguration) throws {
        for rights in try rights(configuration) where !rights.missing.isEmpty {
            let list = rights.missing.map(\.description).joined(separator: ", ")
            throw CommandFailure(
                .configuration,
                "the database account \(rights.account) lacks rights: \(list); syncctl migrate grants them")
        }
    }

    /// Whether each account can log in, and has exactly the privileges that its role needs.
    /// - Parameter explain: the diagnosis of an error that is not about the account.
    static func diagnoses(
        _ configuration: ServerConfiguration, explain: (StoreError, ConnectionSettings) -> Diagnosis?
    ) -> [Diagnosis] {
        let accounts = configuration.roleAccounts
        guard !accounts.isEmpty else {
            return [
                Diagnosis(
                    .rightsShared, "all roles share one database account with all rights",
                    fix: "/usr/share/doc/syncserver/operations.md (section 3) explains how to create one for each role")
            ]
        }
        return ServerRole.allCases.compactMap { role in
            guard let settings = accounts[role] else { return nil }
            do throws(StoreError) {
                return diagnosis(role, try AccountRights(of: role, settings))
            } catch {
                return explain(error, settings)
                    ?? Diagnosis(
                        .roleAccountUnusable,
                        "the role \(role.rawValue) cannot use its database account \(settings.user): \(error)",
                        fix: "check database.roles.\(role.rawValue) and the password's file")
            }
        }
    }

    private static func diagnosis(_ role: ServerRole, _ rights: AccountRights) -> Diagnosis {
        if !rights.missing.isEmpty {
            let list = rights.missing.map(\.description).joined(separator: ", ")
            return Diagnosis(
                .rightsMissing, "the database account \(rights.account) lacks rights: \(list)", fix: "syncctl migrate")
        }
        let more = rights.surplus.map(\.description) + rights.wider
        guard more.isEmpty else {
            return Diagnosis(
                .rightsSurplus,
                "the database account \(rights.account) may do more than the role \(role.rawValue) needs: "
                    + more.joined(separator: ", "),
                fix: rights.wider.isEmpty ? "syncctl migrate" : "REVOKE it in MariaDB, then syncctl migrate")
        }
        return .good("rights", "the database account \(rights.account) may do what its role needs, and no more")
    }

    private static func rights(
        _ configuration: ServerConfiguration, isRebuilding: Bool? = nil
    ) throws -> [AccountRights] {
        try ServerRole.allCases.compactMap { role in
            try configuration.roleAccounts[role].map { try AccountRights(of: role, $0, isRebuilding: isRebuilding) }
        }
    }
}
