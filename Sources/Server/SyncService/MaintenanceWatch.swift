public import Logging
public import Store
import Synchronization
import Vault

/// The announcement of maintenance as known to a process, which keeps it while the database does not answer.
public final class MaintenanceWatch: Sendable {
    /// How often to ask the database, and thus the longest time until an announcement takes effect.
    public static let interval: Duration = .milliseconds(500)

    private let store: MetadataStore
    private let logger: Logger
    private let seen = Mutex<(notice: MaintenanceNotice?, isReadOnly: Bool)>((nil, false))

    public init(store: MetadataStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// The announcement in force; `nil` if the server is open.
    public var notice: MaintenanceNotice? { seen.withLock { $0.notice } }

    /// Whether the database refuses changes.
    public var isReadOnly: Bool { seen.withLock { $0.isReadOnly } }

    /// Asks the database.
    public func refresh() {
        let now: (notice: MaintenanceNotice?, isReadOnly: Bool)
        do {
            now = try store.withSession { (try $0.maintenanceNotice(), try $0.isReadOnly()) }
        } catch { return }
        let former = seen.withLock { seen in
            defer { seen = now }
            return seen
        }
        if former.isReadOnly != now.isReadOnly {
            logger.warning(
                now.isReadOnly ? "The database is read-only: changes fail" : "The database accepts changes again")
        }
        let notice = now.notice
        guard (former.notice == nil) != (notice == nil) else { return }
        if let notice {
            logger.notice("Closed for maintenance", metadata: .keyed([.reason: "\(notice.text)"]))
        } else {
            logger.notice("Open again after maintenance")
        }
    }
}
