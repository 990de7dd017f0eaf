import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix
import Store

/// Closes the server for maintenance, and opens it again.
struct Maintenance: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Closes the server for maintenance, with a message for users, and opens it again.",
        discussion: """
            While the server is closed, requests get 503 with Retry-After and the message, and the jobs role pauses; \
            requests in progress are finished, and HealthCheck still reports the server's state. The server stays \
            closed across restarts. All hosts of the database follow within a second. --this-host closes only this \
            host, through files that nginx checks; it works without the database and without any process of the \
            server.
            """,
        subcommands: [On.self, Off.self, Status.self], defaultSubcommand: Status.self)

    /// The options of both subcommands.
    struct Place: ParsableArguments {
        @Flag(help: "Only this host, through its nginx; the database is not used.") var thisHost = false
        @OptionGroup var host: HostMaintenanceFolder
    }

    struct On: ReportingCommand {
        static let configuration = CommandConfiguration(abstract: "Closes the server, or changes the message.")

        @OptionGroup var options: CommonOptions
        @OptionGroup var place: Place
        @Argument(help: "The message for users: one line, such as \"We are back at noon (UTC).\"") var text: String

        func validate() throws {
            if let objection = MaintenanceNotice.objection(to: text) {
                throw ValidationError("The message \(objection).")
            }
        }

        func report() throws -> any Report {
            if place.thisHost {
                try place.host.files.close(text)
                return MaintenanceReport(allHosts: nil, thisHost: place.host.files.text)
            }
            var database = try MaintenanceSwitch.ofInstallation(options)
            do {
                let notice = try database.close(text)
                return MaintenanceReport(allHosts: notice, thisHost: place.host.files.text)
            } catch let error as MaintenanceSwitch.ForeignComment {
                throw CommandFailure(
                    .foundSomething,
                    "the announcement is stored as the database's comment, but the database already has another "
                        + "comment, \"\(error.comment)\": remove it first (ALTER DATABASE … COMMENT = '')")
            }
        }
    }

    struct Off: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Opens the server again, here and on all hosts.",
            discussion: "A host that was closed with --this-host must be opened there.")

        @OptionGroup var options: CommonOptions
        @OptionGroup var place: Place

        func report() throws -> any Report {
            try place.host.files.open()
            if !place.thisHost {
                var database = try MaintenanceSwitch.ofInstallation(options)
                _ = try database.open()
            }
            return MaintenanceReport(allHosts: nil, thisHost: nil)
        }
    }
}

extension Maintenance {
    struct Status: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows whether the server is closed: since when, where, and with which message.")

        @OptionGroup var options: CommonOptions
        @OptionGroup var place: Place

        func report() throws -> any Report {
            var notice: MaintenanceNotice?
            if !place.thisHost {
                var database = try MaintenanceSwitch.ofInstallation(options)
                notice = try database.notice()
            }
            return MaintenanceReport(allHosts: notice, thisHost: place.host.files.text)
        }
    }
}

/// The folder that nginx checks to see whether this host is closed.
struct HostMaintenanceFolder: ParsableArguments {
    @Option(
        name: .customLong("maintenance-folder"),
        help: ArgumentHelp("The folder in which nginx checks for maintenance of this host.", valueName: "folder"),
        completion: .directory)
    var path = HostMaintenance.standardFolder

    var files: HostMaintenance { HostMaintenance(folder: path) }
}

extension MaintenanceSwitch {
    /// Connects with the owner's account; any schema is accepted.
    fileprivate static func ofInstallation(_ options: CommonOptions) throws -> MaintenanceSwitch {
        let configuration = try ServerConfiguration(readingFrom: options.file.path)
        ClientLibrary.initialize()
        do { return try MaintenanceSwitch(configuration.database) } catch {
            guard let failure = CommandFailure(error) else { throw error }
            throw CommandFailure(
                failure.status,
                "\(failure.message)\nWithout the database: syncctl maintenance … --this-host, on each host")
        }
    }
}
