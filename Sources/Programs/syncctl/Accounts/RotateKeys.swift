import ArgumentParser
import Operations

/// Seals all tokens with the current key.
struct RotateKeys: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-keys", abstract: "Seals all stored tokens anew with the current key.",
        discussion: """
            Before: make a key with generate-key, let sealing.keyFile name it and sealing.formerKeyFiles the one so far, \
            and restart every server. The server works meanwhile; the command may be interrupted and run again.
            """)

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report {
        let installation = try Installation(options)
        return try KeyRotation(store: installation.store, keys: try installation.keys()).run()
    }
}
