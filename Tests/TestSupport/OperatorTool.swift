import Foundation
public import Posix

/// Runs `syncctl` like an operator of a stack.
public struct OperatorTool: Sendable {
    private let program: String
    private let configuration: String

    /// Finds the `syncctl` that belongs to the running server.
    public init(_ server: TestServer) throws {
        guard let responder = try server.processes("syncd_api").first else {
            throw StackError.scriptFailed("no responder runs")
        }
        let folder = URL(filePath: try responder.executable()).deletingLastPathComponent()
        program = folder.appending(path: "syncctl").path
        configuration = try server.environment.value("CONFIG_FILE")
    }

    /// Runs a command with the stack's configuration and human-readable output.
    public func run(_ arguments: String...) throws -> Command { try run(arguments) }

    /// Runs a command with the stack's configuration and human-readable output.
    public func run(_ arguments: [String]) throws -> Command {
        try Command(program, arguments + ["--config", configuration])
    }

    /// Runs a command with the stack's configuration and standard input.
    public func run(_ arguments: [String], input: String) throws -> Command {
        try Command(
            "/bin/sh",
            ["-c", #"input=$1; shift; printf %s "$input" | "$@""#, "sh", input, program] + arguments + [
                "--config", configuration,
            ])
    }

    /// Starts a command that a test may end early; its output goes to a descriptor or is discarded.
    public func start(_ arguments: String..., output: Int32? = nil) throws -> ChildProcess {
        try ChildProcess([program] + arguments + ["--config", configuration], output: output)
    }

    /// A shell command line with the stack's configuration.
    public func commandLine(_ arguments: String...) throws -> String {
        ([program] + arguments + ["--config", configuration]).map { "'\($0)'" }.joined(separator: " ")
    }

    /// A shell command line without a configuration.
    public func commandLine(plain arguments: String...) -> String {
        ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
    }

    /// Runs a command without a configuration.
    public func runPlain(_ arguments: String...) throws -> Command { try runPlain(arguments: arguments) }

    /// Runs a command without a configuration.
    public func runPlain(arguments: [String]) throws -> Command { try Command(program, arguments) }

    /// Runs a command that must exit with `status`, by default 0, and returns its JSON.
    @discardableResult
    public func json(_ arguments: String..., status: Int32 = 0) throws -> JSONValue {
        let command = try Command(program, arguments + ["--config", configuration, "--json"])
        guard command.status == status, let json = JSONValue(Array(command.output.utf8)) else {
            throw StackError.scriptFailed("syncctl \(arguments) ended with \(command.status): \(command.output)")
        }
        return json
    }
}
