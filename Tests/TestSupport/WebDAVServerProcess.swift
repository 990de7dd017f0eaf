public import Foundation
import Posix
import Synchronization

/// A real WebDAV server, which ends with this process (scripts/lib/webdav-server).
public final class WebDAVServerProcess: Sendable {
    private static let running = Mutex<[String: WebDAVServerProcess]>([:])

    /// Where it listens on 127.0.0.1.
    public let port: UInt16
    /// What it serves.
    public let files: URL
    /// The server ends when this is closed.
    private let input: Pipe

    /// The server of that kind, `apache`, `wsgidav` or `rclone`, that all tests of this process share.
    public static func of(_ kind: String) throws -> WebDAVServerProcess {
        try running.withLock { running in
            if let known = running[kind] { return known }
            let started = try WebDAVServerProcess(kind)
            running[kind] = started
            return started
        }
    }

    private init(_ kind: String) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "syncserver-webdav-\(kind)-\(ProcessInfo.processInfo.processIdentifier)")
        files = folder.appending(path: "files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        input = Pipe()
        let output = folder.appending(path: "output")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        defer { try? handle.close() }
        let process = try ChildProcess(
            [PrivateStack.repository.appending(path: "scripts/lib/webdav-server").path, kind, folder.path],
            input: input.fileHandleForReading.fileDescriptor, output: handle.fileDescriptor, hasOwnGroup: true)
        try? input.fileHandleForReading.close()
        // The first time, packages are installed.
        let deadline = ContinuousClock.now + .seconds(180)
        while true {
            let text = try String(contentsOf: output, encoding: .utf8)
            if let port = text.split(separator: "\n").compactMap({ UInt16($0) }).first {
                self.port = port
                return
            }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw StackError.malformedSetting("webdav-server \(kind): \(text)")
            }
            Pause.sleep(.milliseconds(50))
        }
    }
}
