public import Posix
public import Store
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

/// Where the server is closed for maintenance, and the messages for users.
public struct MaintenanceReport: Report {
    /// The notice of all hosts; absent if it is open there.
    public var allHosts: MaintenanceNotice?
    /// The message of only this host; absent if it is open.
    public var thisHost: String?

    public init(allHosts: MaintenanceNotice?, thisHost: String?) {
        self.allHosts = allHosts
        self.thisHost = thisHost
    }

    /// Whether it is open everywhere.
    public var isOpen: Bool { allHosts == nil && thisHost == nil }

    public var lines: [String] {
        var lines: [String] = []
        if let allHosts { lines.append("CLOSED    on all hosts since \(allHosts.since): \(allHosts.text)") }
        if let thisHost { lines.append("CLOSED    on this host: \(thisHost)") }
        return lines.isEmpty ? ["open"] : lines
    }
}
