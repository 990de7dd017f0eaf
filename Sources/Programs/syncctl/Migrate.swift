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
            May run again at any time, and on several hosts at once: one works, the others say so. Where the roles have \
            accounts of their own (database.roles), it also gives each the rights that it needs, and takes others away.
            """)

    @OptionGroup var options: CommonOptions

    @Flag(help: "Change nothing; fail if the schema, or a right of a role's account, is not what this release needs.")
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
