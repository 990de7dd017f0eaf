import Providers
import Store
import SyncProtocol
import Synchronization

/// The location of one user's folder, stored in their row. Shared by the threads that use the storage.
final class UserFolder: FolderMemory {
    private let userID: UserID
    private let accountEpoch: AccountEpoch
    private let store: MetadataStore
    private let checks: FolderChecks
    let name: String?
    private let present: Mutex<String?>

    init(user: UserRecord, store: MetadataStore, checks: FolderChecks) {
        userID = user.userID
        accountEpoch = user.accountEpoch
        name = user.cloudFolderName
        present = Mutex(user.cloudFolderID)
        self.store = store
        self.checks = checks
    }

    var folderID: String? { present.withLock { $0 } }

    func replace(_ old: String?, by new: String) throws(CloudStorageError) -> String {
        do {
            let remembered = try store.transaction { session in
                try session.replaceCloudFolder(of: userID, at: accountEpoch, old, by: new)
            }
            present.withLock { $0 = remembered }
            return remembered ?? new
        } catch {
            throw .localFailure(error)
        }
    }

    func isDueForVerification() -> Bool { checks.isDue(userID) }

    func markDoubtful() { checks.forget(userID) }
}

/// When this process last checked each user's folder.
final class FolderChecks: Sendable {
    private static let interval: Duration = .seconds(300)
    private static let maximumUsers = 10_000
    private let checked = Mutex<[UserID: ContinuousClock.Instant]>([:])

    /// Whether a check is due; the call itself counts as a check.
    func isDue(_ userID: UserID) -> Bool {
        checked.withLock { checked in
            if let last = checked[userID], last.duration(to: .now) < Self.interval { return false }
            if checked.count >= Self.maximumUsers { checked.removeAll() }
            checked[userID] = .now
            return true
        }
    }

    func forget(_ userID: UserID) {
        checked.withLock { $0[userID] = nil }
    }
}

/// The folder of an account that is not a user's current one: either the account to which they are about to switch, or
/// one that they have left. Its location is kept for one request.
final class CandidateFolder: FolderMemory {
    let name: String?
    /// The folder, after it has been found or created.
    private(set) var folderID: String?

    init(name: String?, folderID: String? = nil) {
        self.name = name
        self.folderID = folderID
    }

    func replace(_ old: String?, by new: String) -> String {
        folderID = new
        return new
    }

    func isDueForVerification() -> Bool { false }

    func markDoubtful() { folderID = nil }
}
