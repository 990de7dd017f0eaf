import ArgumentParser
import Operations
import SyncProtocol

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
