import ArgumentParser
import Operations
import Store
import SyncProtocol

/// Switches of accounts.
struct Switches: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists switches of accounts, or shows one, and how far the server is with moving files.",
        subcommands: [SwitchesList.self, SwitchesShow.self], defaultSubcommand: SwitchesList.self)
}

struct SwitchesList: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists switches that are proposed or in progress, by their UUIDs.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only switches of this user, by their number.") var user: Int64?
    @Flag(help: "Switches that are over too.") var finished = false
    @Option(help: "Begin after this UUID.") var after: String?

    func report() throws -> any Report {
        let installation = try Installation(options)
        let after = try after.map { try Self.number($0) }
        let switches = try installation.store.snapshot { session in
            try session.listSwitches(
                of: user.map { UserID($0) }, includesFinished: finished, after: after, limit: page.limit + 1)
        }
        return Page(switches, limit: page.limit) { $0.switchID.rawValue }
    }

    static func number(_ text: String) throws -> AccountSwitchID {
        guard let id = AccountSwitchID(text) else { throw ValidationError("“\(text)” is not a UUID.") }
        return id
    }
}

struct SwitchesShow: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows a switch, with the files that the server could not move.")

    @OptionGroup var options: CommonOptions
    @Argument(help: "The switch's UUID.") var number: String

    func report() throws -> any Report {
        let installation = try Installation(options)
        let id = try SwitchesList.number(number)
        guard let details = try installation.store.snapshot({ try $0.switchDetails(id) }) else {
            throw CommandFailure(.foundSomething, "there is no switch \(number)")
        }
        return details
    }
}
