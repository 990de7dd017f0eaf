import ArgumentParser
import ServerConfiguration

/// Says everything that is wrong with a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Says everything that is wrong with a configuration file.")

    @OptionGroup var file: ConfigurationFile

    func run() throws {
        let configuration = try ServerConfiguration(readingFrom: file.path)
        if let sandbox = configuration.sandbox {
            print("WARNING: sandbox is set: every call to a provider goes to \(sandbox.host):\(sandbox.port).")
            print("         Nothing reaches a real cloud. Never run a server for real people like this.")
        }
        print("\(file.path) is good.")
    }
}
