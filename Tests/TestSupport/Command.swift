import Foundation
import Posix

/// A program that a test has run to completion.
public struct Command: Sendable {
    /// The exit status.
    public let status: Int32
    /// The output to standard output and standard error.
    public let output: String

    /// Runs the program and waits until it ends.
    public init(_ executable: String, _ arguments: [String]) throws {
        // A file instead of a pipe, since daemons that the program starts may keep it open indefinitely.
        let file = FileManager.default.temporaryDirectory.appending(path: "syncserver-command-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        status = try ChildProcess([executable] + arguments, output: handle.fileDescriptor).wait()
        output = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }
}
