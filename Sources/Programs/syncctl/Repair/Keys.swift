import ArgumentParser
import FoundationEssentials
import OpenSSLCrypto
import Operations

/// The keys with which people's tokens are sealed.
struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates and replaces the key that seals stored tokens.",
        subcommands: [GenerateKey.self, RotateKeys.self, RotateKeysReseal.self])
}

/// Prints a new sealing key.
struct GenerateKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Prints a new sealing key, for the file that sealing.keyFile names.",
        discussion:
            "Keep a copy elsewhere: without the key, all stored tokens are lost, and all owners must sign in again.")

    func run() throws {
        Output.write([Data(try RandomBytes.generate(count: SealingKey.byteCount)).base64EncodedString()])
    }
}

/// Replaces the sealing key, in steps that cannot run in the wrong order.
struct RotateKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Replaces the sealing key, step by step.",
        discussion: """
            begin creates a key, with which every service can then open tokens; switch lets them seal with it; finish \
            reseals all stored tokens and retires the former key. Between two steps: systemctl reload syncd. The \
            server keeps running; each step can be interrupted and repeated.
            """,
        subcommands: [
            RotateKeysBegin.self, RotateKeysSwitch.self, RotateKeysFinish.self, RotateKeysStatus.self,
        ],
        defaultSubcommand: RotateKeysStatus.self)
}

struct RotateKeysBegin: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "begin", abstract: "Creates a key, and lets the services open tokens with it after a reload.",
        discussion: """
            If several hosts share a database, all need the same key: copy the file to the other hosts, and name it \
            with --key.
            """)

    @OptionGroup var options: CommonOptions
    @Option(
        help: ArgumentHelp("A key created on another host, instead of a new one.", valueName: "file"),
        completion: .file()) var key: String?

    func report() throws -> any Report { try KeyRotationSteps(options).begin(withKeyIn: key) }
}

struct RotateKeysSwitch: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch", abstract: "Lets the services seal with the new key after a reload.",
        discussion: "Refuses while a process of any host cannot open tokens with the new key.")

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report { try KeyRotationSteps(options).switchKeys() }
}

struct RotateKeysFinish: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "finish", abstract: "Reseals all stored tokens, and retires the former key.",
        discussion: """
            Refuses while a process of any host seals with the former key, or anything is still sealed with it. The \
            file of the former key stays: keep it as long as you keep backups from its time.
            """)

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report { try KeyRotationSteps(options).finish() }
}

struct RotateKeysStatus: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows the next step, and the processes that need a reload.")

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report { try KeyRotationSteps(options).status() }
}

/// Seals all tokens with the current key.
struct RotateKeysReseal: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal", abstract: "Reseals all stored tokens with the current key, as finish does first.")

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report {
        let installation = try Installation(options)
        return try KeyRotation(store: installation.store, keys: try installation.keys()).run()
    }
}
