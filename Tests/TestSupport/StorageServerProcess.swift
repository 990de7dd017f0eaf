public import Foundation
import Posix
import Synchronization

/// A real storage server that ends with this process (scripts/lib/storage-server).
public final class StorageServerProcess: Sendable {
    public enum Kind: String, Sendable {
        case s3Moto = "s3-moto"
        case s3Rclone = "s3-rclone"
        case s3SeaweedFS = "s3-seaweedfs"
        case apache = "webdav-apache"
        /// Shows its files to everybody while ``isOpen`` is true.
        case openApache = "webdav-apache-open"
        case wsgiDAV = "webdav-wsgidav"
        case rcloneWebDAV = "webdav-rclone"
        case lighttpd = "webdav-lighttpd"
        case nginx = "webdav-nginx"
        case copyparty = "webdav-copyparty"
        case asgiWebDAV = "webdav-asgi"
        /// Accepts any password.
        case seaweedWebDAV = "webdav-seaweed"
    }

    private static let running = Mutex<[Kind: StorageServerProcess]>([:])

    private let kind: Kind
    /// The port on 127.0.0.1.
    public let port: UInt16
    /// The served files; moto stores its objects in memory, SeaweedFS in volumes.
    public let files: URL
    /// The port of rclone's remote control, since rclone caches the contents of folders, or of SeaweedFS's filer.
    public let controlPort: UInt16?
    /// The server ends when this pipe is closed.
    private let input: Pipe

    /// The server of that kind, shared by all tests of this process.
    public static func of(_ kind: Kind) throws -> StorageServerProcess {
        try running.withLock { running in
            if let known = running[kind] { return known }
            let started = try StorageServerProcess(kind)
            running[kind] = started
            return started
        }
    }

    private init(_ kind: Kind) throws {
        self.kind = kind
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "syncserver-\(kind.rawValue)-\(ProcessInfo.processInfo.processIdentifier)")
        files = folder.appending(path: "files")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        input = Pipe()
        let output = folder.appending(path: "output")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        defer { try? handle.close() }
        let process = try ChildProcess(
            [PrivateStack.repository.appending(path: "scripts/lib/storage-server").path, kind.rawValue, folder.path],
            input: input.fileHandleForReading.fileDescriptor, output: handle.fileDescriptor, hasOwnGroup: true)
        try? input.fileHandleForReading.close()
        // The first start installs packages.
        let deadline = ContinuousClock.now + .seconds(180)
        while true {
            let text = try String(contentsOf: output, encoding: .utf8)
            // An empty line ends the ports.
            if text.hasSuffix("\n\n") {
                let ports = text.split(separator: "\n").compactMap { UInt16($0) }
                guard let first = ports.first else { throw StackError.malformedSetting("\(kind.rawValue): \(text)") }
                port = first
                controlPort = ports.dropFirst().first
                return
            }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw StackError.malformedSetting("storage-server \(kind.rawValue): \(text)")
            }
            Pause.sleep(.milliseconds(50))
        }
    }

    /// Creates a folder at the root of a WebDAV server through its interface, since rclone does not notice every folder
    /// that is created behind its back.
    /// - Parameters:
    ///   - name: the percent-encoded name.
    ///   - password: the password of the server's only user.
    public func makeFolder(_ name: String, password: String) throws {
        let credentials = Data("tester:\(password)".utf8).base64EncodedString()
        let reply = try HTTPAddress("http://127.0.0.1:\(port)")
            .perform(HTTPCall("MKCOL", "/\(name)/", headers: [("Authorization", "Basic \(credentials)")]))
        guard reply.status == 201 else { throw UnexpectedReply("make folder \(name)", reply) }
    }

    /// Whether a server of the kind `openApache` shows its files to everybody.
    public var isOpen: Bool {
        get { FileManager.default.fileExists(atPath: sign.path) }
        set {
            if newValue {
                _ = FileManager.default.createFile(atPath: sign.path, contents: nil)
            } else {
                try? FileManager.default.removeItem(at: sign)
            }
        }
    }

    private var sign: URL { files.deletingLastPathComponent().appending(path: "open") }

    /// Makes the server notice changes to its files behind its back.
    public func noticeChanges() throws {
        guard kind == .rcloneWebDAV || kind == .s3Rclone, let controlPort else { return }
        let reply = try HTTPAddress("http://127.0.0.1:\(controlPort)").perform(HTTPCall("POST", "/vfs/forget"))
        guard reply.status == 200 else { throw StackError.malformedSetting("vfs/forget: \(reply.status)") }
    }
}
