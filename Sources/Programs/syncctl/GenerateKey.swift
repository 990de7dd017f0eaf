import ArgumentParser
import FoundationEssentials
import OpenSSLCrypto

/// Prints a new sealing key.
struct GenerateKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate-key", abstract: "Prints a new sealing key, for the file that sealing.keyFile names.",
        discussion: "Keep a copy elsewhere: without it all stored tokens are lost, and all owners must sign in again.")

    func run() throws {
        Output.write([Data(try RandomBytes.generate(count: SealingKey.byteCount)).base64EncodedString()])
    }
}
