import ArgumentParser
import Operations

/// Prints the protocol's OpenAPI document; `docs/openapi.json` is its output.
struct OpenAPI: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "openapi", abstract: "Prints the protocol's OpenAPI document.", shouldDisplay: false)

    @Argument(help: "The server's version.") var version: String

    func run() throws {
        Output.write(json: try OpenAPIDocument.json(version: version).text())
    }
}
