public import Logging
public import Store
import Synchronization
import Vault

/// What a process knows of the announcement of maintenance. It remembers it while the database does not answer.
public final class MaintenanceWatch: Sendable {
    /// How often to ask the database: how long at most it takes until an announcement has effect.
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

    /// Whether the database takes no changes.
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
                now.isReadOnly ? "The database is read-only: changes fail" : "The database takes changes again")
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
