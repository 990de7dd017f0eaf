public import Foundation
import Posix
import Synchronization

/// A stack that this test process started for itself with `scripts/stack`.
///
/// A guard process takes it down as soon as this process has ended, however it ended.
public final class PrivateStack: Sendable {
    /// The folder with all of its state.
    public let folder: URL
    private let guardInput: FileHandle

    /// The repository's root, found from this file's place in it.
    public static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Starts a stack and returns when it is ready.
    ///
    /// - Parameters:
    ///   - name: a word for the folder's name.
    ///   - responders: processes of the `api` role, and as many of the `transfer` role.
    ///   - overrides: members of the server's configuration that differ from the stack's usual ones, as JSON.
    public init(_ name: String, responders: Int = 2, overrides: String? = nil) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "syncserver-\(name)-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if let overrides {
            try Data(overrides.utf8).write(to: folder.appending(path: "syncd-overrides.json"))
        }
        guardInput = try Self.startGuard(of: folder)
        try Self.runScript(["up", folder.path, "--responders", String(responders)])
    }

    /// What `scripts/stack env` says now.
    public func environment() throws -> StackEnvironment {
        StackEnvironment(output: try Self.runScript(["env", folder.path]))
    }

    /// Starts again what has ended, and restarts what has changed.
    public func restore() throws { try Self.runScript(["up", folder.path]) }

    /// A shell that waits for the end of its input, which is the end of this process.
    private static func startGuard(of folder: URL) throws -> FileHandle {
        let script = """
            trap '' INT HUP TERM
            cat >/dev/null
            "$1" down "$2"
            [ -n "$SYNC_TEST_KEEP" ] || rm -rf "$2"
            """
        let input = Pipe()
        defer { try? input.fileHandleForReading.close() }
        _ = try ChildProcess(
            ["/bin/sh", "-c", script, "stack-guard", repository.appending(path: "scripts/stack").path, folder.path],
            input: input.fileHandleForReading.fileDescriptor, hasOwnGroup: true)
        return input.fileHandleForWriting
    }

    @discardableResult
    private static func runScript(_ arguments: [String]) throws -> String {
        let command = try Command(repository.appending(path: "scripts/stack").path, arguments)
        guard command.status == 0 else { throw StackError.scriptFailed(command.output) }
        return command.output
    }
}
