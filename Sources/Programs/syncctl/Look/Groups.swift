import ArgumentParser
import Operations
import Store
import SyncProtocol

/// Sharing groups.
struct Groups: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists sharing groups, or shows one.", subcommands: [GroupsList.self, GroupsShow.self],
        defaultSubcommand: GroupsList.self)
}

struct GroupsList: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists groups, sorted by UUID.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: ArgumentHelp("Only names that contain this text.", valueName: "text")) var name: String?
    @Option(help: ArgumentHelp("Only groups of the user with this number.", valueName: "number")) var member: Int64?
    @Flag(help: "Also groups that have ended.") var ended = false
    @Option(help: ArgumentHelp("Begin after this UUID.", valueName: "uuid")) var after: String?

    func report() throws -> any Report {
        let installation = try Installation(options)
        let filter = GroupFilter(namePart: name, member: member.map { UserID($0) }, includesDeleted: ended)
        let after = try after.map { try Installation.group($0) }
        let groups = try installation.store.snapshot { session in
            try session.listGroups(filter, after: after, limit: page.limit + 1)
        }
        return Page(groups, limit: page.limit) { $0.sharingGroupUUID.rawValue }
    }
}

struct GroupsShow: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows a group with members, invitations and its last commit.",
        discussion: "Invitation codes are not shown: anyone with a code can join.")

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The group's UUID.", valueName: "uuid")) var group: String

    func report() throws -> any Report {
        let installation = try Installation(options)
        let uuid = try Installation.group(group)
        let now = installation.now
        guard let details = try installation.store.snapshot({ try $0.groupDetails(uuid, at: now) }) else {
            throw CommandFailure(.foundSomething, "there is no group \(group)")
        }
        return details
    }
}
