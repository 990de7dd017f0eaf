public import ArgumentParser
import Configuration
import Operations
import Store
public import SyncProtocol

/// People with an account.
struct Users: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists users, shows one, or exports or erases their data.",
        subcommands: [UsersList.self, UsersShow.self, ExportUser.self, EraseUser.self],
        defaultSubcommand: UsersList.self)
}

struct UsersList: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists users by their numbers.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only accounts of this type.") var type: AccountType?
    @Option(help: ArgumentHelp("Only names that contain this text.", valueName: "text")) var name: String?
    @Option(help: ArgumentHelp("Only this account, by the provider's own identifier.", valueName: "identifier"))
    var account: String?
    @Option(help: ArgumentHelp("Only members of this group, by its UUID.", valueName: "uuid")) var group: String?
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
