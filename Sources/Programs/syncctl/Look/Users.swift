public import ArgumentParser
import Configuration
import Gzip
import HTTPTransport
import Logging
import Operations
import Posix
import Store
public import SyncProtocol
import Vault

/// People with an account.
struct Users: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists users, shows one, or exports or erases their data.",
        subcommands: [UsersList.self, UsersShow.self, ExportUser.self, EraseUser.self],
        defaultSubcommand: UsersList.self)
}

struct UsersList: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists users, sorted by number.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only accounts of this type.") var type: AccountType?
    @Option(help: ArgumentHelp("Only names that contain this text.", valueName: "text")) var name: String?
    @Option(help: ArgumentHelp("Only this account, by the provider's own identifier.", valueName: "identifier"))
    var account: String?
    @Option(help: ArgumentHelp("Only members of the group with this UUID.", valueName: "uuid")) var group: String?
    @Flag(help: "Only users who have used at least 80 percent of a quota; examines every user.") var nearQuota = false
    @Option(help: ArgumentHelp("Begin after this number.", valueName: "number")) var after: Int64?

    func report() throws -> any Report {
        let installation = try Installation(options)
        let filter = UserFilter(
            accountType: type, namePart: name, providerUserID: account,
            group: try group.map { try Installation.group($0) })
        let after = after.map { UserID($0) }
        let quotas = installation.configuration.quotas
        let now = installation.now
        let users = try installation.store.snapshot { session in
            try nearQuota
                ? session.listUsersNearQuota(filter, after: after, limit: page.limit + 1, quotas, at: now)
                : session.listUsers(filter, after: after, limit: page.limit + 1, quotas, at: now)
        }
        return Page(users, limit: page.limit) { "\($0.userID)" }
    }
}

struct UsersShow: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows a user with devices, groups and owned files.")

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The user's number.", valueName: "number")) var user: Int64

    func report() throws -> any Report {
        let installation = try Installation(options)
        let quotas = installation.configuration.quotas
        let now = installation.now
        guard let details = try installation.store.snapshot({ try $0.userDetails(UserID(user), quotas, at: now) })
        else {
            throw CommandFailure(.foundSomething, "there is no user \(user)")
        }
        return details
    }
}

extension AccountType: ExpressibleByArgument {}

/// Exports all data about one user.
struct ExportUser: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Exports all data stored about a user, to give to them.",
        discussion: """
            Prints JSON without tokens and without other people's data. With --files, also downloads the user's own \
            files from their storage.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The user's number.", valueName: "number")) var user: Int64
    @Option(
        help: ArgumentHelp(
            "A new folder for user.json and the files; without it, the JSON is printed.", valueName: "folder"),
        completion: .directory)
    var to: String?
    @Flag(help: "Also downloads the user's files; requires --to.") var files = false

    func validate() throws {
        guard !files || to != nil else { throw ValidationError("--files requires a folder: --to FOLDER.") }
    }

    func run() throws {
        let report = try report()
        // Without a folder, the data itself is the result, which only programs read.
        try Output.write(report, asJSON: options.isJSON || to == nil)
        if !report.isGood { throw ExitCode(ExitStatus.foundSomething.rawValue) }
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let id = UserID(user)
        guard let data = try installation.store.snapshot({ try $0.personalData(of: id) }) else {
            throw CommandFailure(.foundSomething, "there is no user \(user)")
        }
        var export = PersonalExport(data, at: installation.now)
        guard let to else { return export }
        guard !RegularFile.exists(to) else {
            throw CommandFailure(.foundSomething, "\(to) exists already; nothing was written")
        }
        try Directory.make(to)
        if files, data.user.user.accountType.cloudStorageType != nil,
            let record = try installation.store.withSession({ try $0.user(id) })
        {
            let storage = try installation.storage().storage(
                of: record, transport: installation.transport(), deadline: .after(.seconds(60)),
                logger: Logger(label: "syncctl", factory: { _ in SwiftLogNoOpLogHandler() }))
            try export.fetchFiles(from: storage, into: to)
        }
        let file = try RegularFile("\(to)/user.json", for: .writing)
        try file.write(Array((try export.json() + "\n").utf8).span, at: 0)
        return export
    }
}

/// Removes a user permanently.
struct EraseUser: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase", abstract: "Removes a user and all their data, and prints a receipt.",
        discussion: """
            Does the same as removing the account in the app. Files in the user's storage stay there; other members \
            see them as deleted. Without --yes, only reports what would happen. Keep the receipt; it contains no \
            names.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The user's number.", valueName: "number")) var user: Int64
    @Flag(name: .customLong("yes"), help: "Removes the user; this cannot be undone.") var isConfirmed = false

    func report() throws -> any Report {
        let installation = try Installation(options)
        let erasure = Erasure(store: installation.store)
        let receipt =
            if isConfirmed { try erasure.erase(UserID(user), at: installation.now) } else {
                try erasure.preview(UserID(user), at: installation.now)
            }
        guard let receipt else { throw CommandFailure(.foundSomething, "there is no user \(user)") }
        return receipt
    }
}
