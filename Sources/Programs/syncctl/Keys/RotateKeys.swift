import ArgumentParser
import FoundationEssentials
import OpenSSLCrypto
import Operations

/// The keys with which people's tokens are sealed.
struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes and replaces the key that seals stored tokens.",
        subcommands: [GenerateKey.self, RotateKeys.self, RotateKeysReseal.self])
}

/// Prints a new sealing key.
struct GenerateKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Prints a new sealing key, for the file that sealing.keyFile names.",
        discussion: "Keep a copy elsewhere: without it all stored tokens are lost, and all owners must sign in again.")

    func run() throws {
        Output.write([Data(try RandomBytes.generate(count: SealingKey.byteCount)).base64EncodedString()])
    }
}

/// Replaces the sealing key, in steps that refuse to be taken in the wrong order.
struct RotateKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Replaces the sealing key, step by step.",
        discussion: """
            begin makes a key, which every service then learns to open tokens with; switch lets them seal with it; finish \
            seals all stored tokens anew and gives up the former key. Between two steps: systemctl reload syncd. The server \
            works meanwhile; each step may be interrupted and taken again.
            """,
        subcommands: [
            RotateKeysBegin.self, RotateKeysSwitch.self, RotateKeysFinish.self, RotateKeysStatus.self,
        ],
        defaultSubcommand: RotateKeysStatus.self)
}

struct RotateKeysBegin: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "begin", abstract: "Makes a key, and lets the services open tokens with it after a reload.",
        discussion: """
            Where several hosts share a database, the other hosts get the same key: copy the file there, and name it with \
            --key.
            """)

    @OptionGroup var options: CommonOptions
    @Option(
        help: ArgumentHelp("A key that another host has made, in place of a new one.", valueName: "file"),
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
        commandName: "finish", abstract: "Seals all stored tokens anew, and gives up the former key.",
        discussion: """
            Refuses while a process of any host seals with the former key, or anything is still sealed with it. The file of \
            the former key stays: keep it as long as backups that were made with it.
            """)

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report { try KeyRotationSteps(options).finish() }
}

struct RotateKeysStatus: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Says which step is next, and which process waits for a reload.")

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report { try KeyRotationSteps(options).status() }
}

/// Seals all tokens with the current key.
struct RotateKeysReseal: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal", abstract: "Seals all stored tokens anew with the current key, as finish does first.")

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report {
        let installation = try Installation(options)
        return try KeyRotation(store: installation.store, keys: try installation.keys()).run()
    }
}
