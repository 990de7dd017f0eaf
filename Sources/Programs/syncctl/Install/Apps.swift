import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix
import Store

/// The apps of a host.
struct Apps: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the apps of this host, adds one, or removes one.",
        discussion: """
            The package serves one app, default. Each additional app has a name and its own server: configuration and \
            secrets below /etc/syncd/NAME, a database, system users, units called syncd-NAME-..., and an nginx site. \
            All other commands accept --app NAME. To add an app:

              syncctl apps create notes
              syncctl --app notes setup
            """,
        subcommands: [List.self, Create.self, Remove.self, Refresh.self], defaultSubcommand: List.self)

    /// For each reply of a unit, a responder or a database.
    private static let patience: Duration = .seconds(5)

    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the apps of this host, with state, version and number of users.")

        @OptionGroup var options: CommonOptions

        func report() throws -> any Report {
            ClientLibrary.initialize()
            return AppList(
                items: ([.package] + AppFiles.added()).map { app in
                    AppList.Item(app, users: Self.users(of: app), within: Apps.patience)
                })
        }

        private static func users(of app: HostedApp) -> Int? {
            let path = app.configurationFolder + "/syncd.json"
            guard let configuration = try? ServerConfiguration(readingForDatabaseAlone: path) else { return nil }
            var settings = configuration.database
            settings.connectTimeout = Apps.patience
            settings.readTimeout = Apps.patience
            var users: Int64?
            do throws(MariaDBError) {
                var connection = try Connection(settings)
                try connection.query("SELECT COUNT(*) FROM users", []) { row throws(MariaDBError) in
                    users = try row.int(0)
                }
            } catch {
                return nil
            }
            return users.map { Int($0) }
        }
    }

    /// The app that a subcommand works on.
    struct Name: ParsableArguments {
        @Argument(help: "Its name: 1 to 16 lowercase letters and digits, beginning with a letter.") var name: String

        func validate() throws {
            if let objection = HostedApp.objection(to: name) { throw ValidationError("\(objection).") }
            guard name != HostedApp.packageName else {
                throw ValidationError("\(name) is the package's app: apt installs and removes it.")
            }
        }

        /// - Throws: ``CommandFailure`` unless run as root.
        func app() throws -> HostedApp {
            guard Terminal.isRoot else { throw CommandFailure(.noPermission, "this requires root") }
            guard let app = HostedApp(name) else { throw ValidationError("\(name) is not a valid app name.") }
            return app
        }
    }

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds an app: its units, users and folders; then run setup.",
            discussion: "Can be repeated. It starts nothing and changes no other app.")

        @OptionGroup var app: Name

        func run() throws {
            let app = try app.app()
            try AppInstallation(app: app).install()
            Output.write(["The app \(app.label) has units, users and folders.", "NEXT       \(app.command) setup"])
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes an app from this host; other apps keep running.",
            discussion: """
                Stops the app, and removes its units and its site. Configuration, secrets, database, logs and backups \
                stay, so that `syncctl apps create` and setup can restore it. With --purge, only its backups stay.
                """)

        @OptionGroup var app: Name
        @Flag(help: "Also delete its configuration, its secrets, its database and its logs.") var purge = false
        @Flag(help: "Really delete it; without this option, only list what would be deleted.") var yes = false

        func run() throws {
            let app = try app.app()
            guard AppFiles.added().contains(app) else {
                throw CommandFailure(.foundSomething, "this host has no app \(app.label)")
            }
            ClientLibrary.initialize()
            let installation = AppInstallation(app: app)
            let database = purge ? try installation.database() : nil
            guard !purge || yes else {
                let list = installation.belongings(with: database).map { "  - \($0)" }
                Output.write(["--yes would stop the app \(app.label) and permanently delete:"] + list)
                Output.write([
                    "Backups in \(app.backupFolder) stay; without the sealing key, the tokens in them cannot be opened."
                ])
                return
            }
            try installation.remove()
            var left: [String] = []
            do { if purge { left = try installation.purge(database) } } catch {
                try? installation.letNginxForget()
                throw error
            }
            Output.write(["The app \(app.label) is removed\(purge ? ", with everything except its backups" : "")."])
            if !left.isEmpty {
                Output.write(
                    [
                        "Its database remains; the database's administrator removes it with:"
                    ] + left)
            }
            if purge, database == nil {
                Output.write([
                    "It had no configuration that names its database; if a database \(app.databaseName) exists, it "
                        + "remains."
                ])
            }
            try installation.letNginxForget()
        }
    }

    struct Refresh: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Regenerates the files of all added apps from the package's files; for upgrades.",
            shouldDisplay: false)

        func run() throws {
            var isDone = true
            for app in AppFiles.added() where AppFiles(of: app).isInstalled {
                do {
                    for path in try AppInstallation(app: app).install() {
                        Output.complain([
                            "\(path) was changed by an administrator and stays unchanged; this release would write it "
                                + "differently"
                        ])
                    }
                } catch {
                    // The other apps are still refreshed.
                    isDone = false
                    Output.complain(["the app \(app.label): \(CommandFailure(error)?.message ?? "\(error)")"])
                }
            }
            guard isDone else { throw ExitCode(ExitStatus.foundSomething.rawValue) }
        }
    }
}
