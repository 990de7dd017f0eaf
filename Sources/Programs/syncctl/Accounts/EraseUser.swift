import ArgumentParser
import Operations
import SyncProtocol

/// Removes a person for good.
struct EraseUser: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase", abstract: "Removes a user and everything about them, with a receipt.",
        discussion: """
            Does what the app's own removal of an account does. Files in the person's storage stay there; others see them \
            as deleted. Without --yes it only says what would happen. The receipt names nobody; keep it.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The user's number.", valueName: "number")) var user: Int64
    @Flag(name: .customLong("yes"), help: "Does it; it cannot be undone.") var isConfirmed = false

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
