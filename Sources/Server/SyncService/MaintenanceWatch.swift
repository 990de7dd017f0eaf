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
    private let seen = Mutex<MaintenanceNotice?>(nil)

    public init(store: MetadataStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// The announcement in force; `nil` if the server is open.
    public var notice: MaintenanceNotice? { seen.withLock { $0 } }

    /// Asks the database.
    public func refresh() {
        let notice: MaintenanceNotice?
        do { notice = try store.withSession { try $0.maintenanceNotice() } } catch { return }
        let former = seen.withLock { seen in
            defer { seen = notice }
            return seen
        }
        guard (former == nil) != (notice == nil) else { return }
        if let notice {
            logger.notice("Closed for maintenance", metadata: .keyed([.reason: "\(notice.text)"]))
        } else {
            logger.notice("Open again after maintenance")
        }
    }
}
