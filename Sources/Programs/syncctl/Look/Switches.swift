import ArgumentParser
import Configuration
import Logging
import OpenSSLCrypto
import Operations
import Store
import SyncProtocol
import Vault

/// Switches of accounts.
struct Switches: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists account switches, shows one with the progress of its file moves, or undoes one.",
        subcommands: [SwitchesList.self, SwitchesShow.self, SwitchesUndo.self], defaultSubcommand: SwitchesList.self)
}

struct SwitchesList: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists switches that are proposed or in progress, sorted by UUID.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: ArgumentHelp("Only switches of the user with this number.", valueName: "number")) var user: Int64?
    @Flag(help: "Also switches that are over.") var finished = false
    @Option(help: ArgumentHelp("Begin after this UUID.", valueName: "uuid")) var after: String?

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
        commandName: "show", abstract: "Shows a switch with the files that the server could not move.")

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The switch's UUID.", valueName: "uuid")) var number: String

    func report() throws -> any Report {
        let installation = try Installation(options)
        let id = try SwitchesList.number(number)
        guard let details = try installation.store.snapshot({ try $0.switchDetails(id) }) else {
            throw CommandFailure(.foundSomething, "there is no switch \(number)")
        }
        return details
    }
}

struct SwitchesUndo: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undoes a confirmed switch, and later ones, for a person whose account was taken over.",
        discussion: """
            The person gets back the account that the switch replaced, and signs in with it once. First make sure that \
            the request comes from this person, and not from somebody who controls an old account of theirs. Files \
            unchanged since the switch have their contents again at once; the jobs role moves the others if it still \
            can. Devices added with or after the switch lose their grants and notifications.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The switch's UUID.", valueName: "uuid")) var number: String

    func report() throws -> any Report {
        let installation = try Installation(options)
        let id = try SwitchesList.number(number)
        let found = try installation.store.snapshot { session -> (UndoableSwitch, UserRecord)? in
            guard let undone = try session.undoableSwitch(id), let user = try session.user(undone.userID) else {
                return nil
            }
            return (undone, user)
        }
        guard let (undone, user) = found else {
            throw CommandFailure(
                .foundSomething,
                "there is no switch \(number) that can be undone: it does not exist, is not confirmed, or is itself "
                    + "an undo")
        }
        guard !undone.isUndone else {
            throw CommandFailure(
                .foundSomething,
                "switch \(number) has already been undone")
        }
        let days = installation.configuration.undoDays
        let age = installation.now.secondsSince1970 - undone.confirmedAt.secondsSince1970
        guard age < Int64(days) * 86_400 else {
            throw CommandFailure(.foundSomething, "switch \(number) was confirmed more than \(days) days ago")
        }
        guard let undoID = AccountSwitchID(try RandomBytes.uuidText()) else { preconditionFailure("a UUID") }
        let logger = Logger(label: "syncctl", factory: { _ in SwiftLogNoOpLogHandler() })
        let move =
            installation.configuration.moveThreads == 0
            ? nil
            : RequestedMove(former: try installation.storage().vault.sealedForMove(outOfAccountOf: user, logger))
        do {
            return try installation.store.transaction { session in
                let undo = try session.undoSwitch(
                    undone, expecting: user.accountEpoch,
                    by: SwitchUndo(id: undoID, credentials: nil, hasOfflineAccess: false, grant: nil, move: move),
                    at: installation.now)
                return UndoneSwitch(
                    undo, of: undone, movesContents: try session.movesContents(of: undo.userID, since: undo.id))
            }
        } catch SwitchRefusal.accountInUse {
            throw CommandFailure(
                .foundSomething,
                "the account that switch \(number) replaced now belongs to another user; remove that user first")
        } catch SwitchRefusal.staleEpoch {
            throw CommandFailure(.foundSomething, "the person is switching accounts at this moment; try again")
        }
    }
}
