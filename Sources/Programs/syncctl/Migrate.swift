import ArgumentParser
import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Store

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
