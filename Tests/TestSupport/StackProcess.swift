import Foundation
import Glibc

/// One process of a stack, seen through /proc (proc(5)).
public struct StackProcess: Sendable, Hashable {
    /// The process id.
    public let id: Int32

    /// Names a process by its id.
    public init(_ id: Int32) { self.id = id }

    /// Whether the process is running. A zombie has ended, unless threads other than its first are still running: until
    /// the last one ends, its sockets are open and accept requests without a reply.
    public var isRunning: Bool {
        guard let status = try? text("status") else { return false }
        if !status.contains("State:\tZ") && !status.contains("State:\tX") { return true }
        return ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []).count > 1
    }

    /// Sends a signal, such as `SIGKILL`.
    public func send(_ signal: Int32) { kill(id, signal) }

    /// Freezes the process until ``thaw()``.
    ///
    /// Returns when all its threads have stopped, or after 5 s: on another processor, they may run briefly after the
    /// signal and reply to requests.
    public func freeze() {
        send(SIGSTOP)
        let deadline = ContinuousClock.now + .seconds(5)
        while !isFrozen, ContinuousClock.now < deadline { usleep(1000) }
    }

    /// Ends ``freeze()``.
    public func thaw() { send(SIGCONT) }

    /// Whether each thread is in state T (proc(5), `/proc/PID/task/TID/stat`).
    private var isFrozen: Bool {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
        return tasks.allSatisfy { task in (try? text("task/\(task)/stat"))?.contains(") T ") ?? true }
    }

    /// The currently resident memory, in bytes.
    public func residentBytes() throws -> Int { try kilobytes("VmRSS") * 1024 }

    /// The peak resident memory since the start or since ``forgetPeak()``, in bytes.
    public func peakResidentBytes() throws -> Int { try kilobytes("VmHWM") * 1024 }

    /// Begins a new measurement of the peak.
    public func forgetPeak() throws { try Data("5".utf8).write(to: URL(filePath: "/proc/\(id)/clear_refs")) }

    /// The number of bytes read so far, including from sockets.
    public func bytesRead() throws -> Int {
        let line = try text("io").split(separator: "\n").first { $0.hasPrefix("rchar:") }
        return line.flatMap { Int($0.dropFirst(6).trimmingCharacters(in: .whitespaces)) } ?? 0
    }

    /// The command line, argument by argument.
    public func arguments() throws -> [String] {
        try text("cmdline").split(separator: "\0").map(String.init)
    }

    /// The path of the executable.
    public func executable() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/exe")
    }

    /// The working directory.
    public func directory() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd")
    }

    private func kilobytes(_ name: String) throws -> Int {
        let line = try text("status").split(separator: "\n").first { $0.hasPrefix(name + ":") }
        let digits = line?.filter(\.isNumber) ?? ""
        guard let value = Int(digits) else { throw StackError.malformedSetting("\(name) of process \(id)") }
        return value
    }

    private func text(_ name: String) throws -> String {
        // Read to the end, since the files of /proc report a size of 0.
        let handle = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(id)/\(name)"))
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }
}
