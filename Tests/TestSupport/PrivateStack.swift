public import Foundation
import Posix
import Synchronization

/// A stack that this test process started with `scripts/stack` for its own use.
///
/// A guard process shuts it down as soon as this process has ended, for any reason.
public final class PrivateStack: Sendable {
    /// The folder with all of its state.
    public let folder: URL
    private let guardInput: FileHandle

    /// The repository's root, derived from this file's path.
    public static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Starts a stack and returns when it is ready.
    ///
    /// - Parameters:
    ///   - name: a word for the folder's name.
    ///   - responders: processes of the `api` role, and as many of the `transfer` role.
    ///   - clocks: the deviation of the wall clock of each role's processes, such as `["jobs": "+2h"]`.
    ///   - overrides: members of the server's configuration that differ from the stack's usual ones, as JSON.
    ///   - heartbeatSeconds: the seconds between two heartbeats of a stream of signals, instead of the usual 30.
    ///   - resolvesNames: whether the server looks up providers' names, which requires root.
    ///   - environment: variables for the processes, in addition to those of this one.
    public init(
        _ name: String, responders: Int = 2, clocks: [String: String] = [:], overrides: String? = nil,
        heartbeatSeconds: Int? = nil, resolvesNames: Bool = false,
        environment: [String: String] = [:]
    ) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "syncserver-\(name)-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Self.configuration(overrides).write(to: folder.appending(path: "syncd-overrides.json"))
        if let heartbeatSeconds {
            try Data("\(heartbeatSeconds)".utf8).write(to: folder.appending(path: "heartbeat-seconds"))
        }
        let findings = ProcessInfo.processInfo.environment["SYNC_CANARY_DIR"].map {
            "\($0)/\(name)-\(ProcessInfo.processInfo.processIdentifier)"
        }
        if let findings { try Data().write(to: URL(filePath: findings + ".pending")) }
        guardInput = try Self.startGuard(of: folder, findings: findings)
        var options = clocks.flatMap { ["--clock", "\($0.key)=\($0.value)"] }
        if resolvesNames { options.append("--resolve-names") }
        try Self.runScript(["up", folder.path, "--responders", String(responders)] + options, environment)
    }

    /// The current output of `scripts/stack env`.
    public func environment() throws -> StackEnvironment {
        StackEnvironment(output: try Self.runScript(["env", folder.path]))
    }

    /// Starts ended processes again, and restarts those whose configuration has changed.
    public func restore() throws { try Self.runScript(["up", folder.path]) }

    /// Returns the overrides with fewer threads than a real server: a dozen stacks with 1,024 in each process would
    /// come close to Linux's default limit of 32,768 in total (`kernel.pid_max`, proc(5)).
    private static func configuration(_ overrides: String?) throws -> Data {
        let chosen = try JSONSerialization.jsonObject(with: Data((overrides ?? "{}").utf8)) as? [String: Any] ?? [:]
        return try JSONSerialization.data(withJSONObject: ["transferThreads": 128].merging(chosen) { $1 })
    }

    /// Starts a shell that waits for the end of its input, which this process's end causes.
    ///
    /// If `findings` is given, the shell also searches the stack's logs for tokens and writes the result to this path,
    /// with the suffix `.pending`, or `.done` once it is complete.
    private static func startGuard(of folder: URL, findings: String?) throws -> FileHandle {
        let script = """
            trap '' INT HUP TERM
            cat >/dev/null
            [ -z "$4" ] || { "$3" "$2" >"$4.pending" 2>&1; mv "$4.pending" "$4.done"; }
            "$1" down "$2"
            [ -n "$SYNC_TEST_KEEP" ] || rm -rf "$2"
            """
        let input = Pipe()
        defer { try? input.fileHandleForReading.close() }
        _ = try ChildProcess(
            [
                "/bin/sh", "-c", script, "stack-guard", repository.appending(path: "scripts/stack").path, folder.path,
                repository.appending(path: "scripts/lib/canary").path, findings ?? "",
            ],
            input: input.fileHandleForReading.fileDescriptor, hasOwnGroup: true)
        return input.fileHandleForWriting
    }

    @discardableResult
    private static func runScript(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> String {
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let command = try Command(
            "/usr/bin/env", variables + [repository.appending(path: "scripts/stack").path] + arguments)
        guard command.status == 0 else { throw StackError.scriptFailed(command.output) }
        return command.output
    }
}
