import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix
import Store

/// The apps of a host.
struct Apps: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the apps of this host, adds one, and removes one.",
        discussion: """
            The package serves one app, default. Each other one has a name, and a server of its own: configuration and \
            secrets below /etc/syncd/NAME, a database, users of the system, units called syncd-NAME-..., a site of nginx. All \
            other commands take --app NAME. To add one:

              syncctl apps create notes
              syncctl --app notes setup
            """,
        subcommands: [List.self, Create.self, Remove.self, Refresh.self], defaultSubcommand: List.self)

    /// For each answer of a unit, a responder or a database.
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

    /// The app that a subcommand is about.
    struct Name: ParsableArguments {
        @Argument(help: "Its name: small letters and digits, at most 16, a letter first.") var name: String

        func validate() throws {
            if let objection = HostedApp.objection(to: name) { throw ValidationError("\(objection).") }
            guard name != HostedApp.packageName else {
                throw ValidationError("\(name) is the app of the package: apt installs and removes it.")
            }
        }

        /// - Throws: ``CommandFailure`` unless root asks.
        func app() throws -> HostedApp {
            guard Terminal.isRoot else { throw CommandFailure(.noPermission, "this takes root") }
            guard let app = HostedApp(name) else { throw ValidationError("\(name) is no app's name.") }
            return app
        }
    }

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds an app: its units, users and folders; setup is next.",
            discussion: "It may be repeated. Nothing is started, and no other app is touched.")

        @OptionGroup var app: Name

        func run() throws {
            let app = try app.app()
            try AppInstallation(app: app).install()
            Output.write(["The app \(app.label) has units, users and folders.", "NEXT       \(app.command) setup"])
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes an app from this host; the others go on.",
            discussion: """
                Stops it, and removes its units and its site. Configuration, secrets, database, logs and backups stay, so that \
                `syncctl apps create` and setup bring it back. With --purge only its backups stay.
                """)

        @OptionGroup var app: Name
        @Flag(help: "Also delete its configuration, its secrets, its database and its logs.") var purge = false
        @Flag(help: "Really do that; else it is only said what would be deleted.") var yes = false

        func run() throws {
            let app = try app.app()
            guard AppFiles.added().contains(app) else {
                throw CommandFailure(.foundSomething, "there is no app \(app.label) on this host")
            }
            ClientLibrary.initialize()
            let installation = AppInstallation(app: app)
            let database = purge ? try installation.database() : nil
            guard !purge || yes else {
                let list = installation.belongings(with: database).map { "  - \($0)" }
                Output.write(["--yes would stop the app \(app.label) and delete for ever:"] + list)
                Output.write([
                    "Backups in \(app.backupFolder) stay; without the sealing key nobody opens the tokens in them."
                ])
                return
            }
            try installation.remove()
            var left: [String] = []
            do { if purge { left = try installation.purge(database) } } catch {
                try? installation.letNginxForget()
                throw error
            }
            Output.write(["The app \(app.label) is removed\(purge ? ", with all that it had but its backups" : "")."])
            if !left.isEmpty { Output.write(["Its database is left; its administrator removes it with:"] + left) }
            if purge, database == nil {
                Output.write([
                    "It had no configuration, which names its database: a database \(app.databaseName) would be left."
                ])
            }
            try installation.letNginxForget()
        }
    }

    struct Refresh: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes the files of all added apps anew from those of the package; for upgrades.",
            shouldDisplay: false)

        func run() throws {
            var isDone = true
            for app in AppFiles.added() where AppFiles(of: app).isInstalled {
                do {
                    for path in try AppInstallation(app: app).install() {
                        Output.complain([
                            "\(path) was changed by an administrator and is left alone; this release would write it differently"
                        ])
                    }
                } catch {
                    // The other apps get theirs.
                    isDone = false
                    Output.complain(["the app \(app.label): \(CommandFailure(error)?.message ?? "\(error)")"])
                }
            }
            guard isDone else { throw ExitCode(ExitStatus.foundSomething.rawValue) }
        }
    }
}
