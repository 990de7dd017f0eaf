public import Posix
import Store
import SyncProtocol

/// Maintenance of only this host, through files that its nginx checks (nginx/syncd-maintenance.conf): it needs neither
/// the database nor a process of the server.
public struct HostMaintenance: Sendable {
    /// The folder that nginx checks.
    public static var standardFolder: String { HostedApp.current.maintenanceFolder }

    private let folder: String
    /// The reply to all requests while the file exists.
    private var reply: String { folder + "/reply.json" }
    private var message: String { folder + "/message.txt" }

    public init(folder: String) {
        self.folder = folder
    }

    /// The message for users; `nil` if this host is open.
    public var text: String? {
        guard AtomicFile.exists(reply), let bytes = try? TextFile.read(message) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter text: a message without a `MaintenanceNotice.objection(to:)`.
    /// - Throws: ``PosixError``.
    public func close(_ text: String) throws(PosixError) {
        let code = ErrorCode.maintenance
        let body = ErrorBody(
            error: text, code: code.rawValue, requestId: "-", retryable: code.isRetryable, status: code.status
        ).body
        if !AtomicFile.exists(folder) {
            try Directory.make(folder)
            try AtomicFile.setPermissions(of: folder, to: 0o755)
        }
        try AtomicFile.write(Array(text.utf8), to: message, permissions: 0o644)
        try AtomicFile.write(body, to: reply, permissions: 0o644)
    }

    /// - Throws: ``PosixError``.
    public func open() throws(PosixError) {
        try Directory.removeFile(reply)
        try Directory.removeFile(message)
    }
}
