import SyncClient
import SyncDirectory

extension DirectorySynchronizer {
    /// The result of one round.
    struct Round: Sendable {
        /// Changes that the server has now, including those that earlier rounds and processes began to send.
        var sent: [Change] = []
        var received: [Change] = []
        var conflicts: [DirectoryConflict] = []
        var skipped: [DirectoryScan.Skipped] = []
        /// Changes that wait for a person's action, or that could not be sent at the moment, and why; including those
        /// of earlier rounds and processes.
        var problems: [Change] = []
        /// Files whose contents this round found to be out of reach, and why.
        var unreachable: [Change] = []
        /// Files that the server has again, after others had deleted them or a restored server had lost them.
        var restored: [Change] = []
        /// Whether this round noticed that the server was restored from a backup.
        var serverWasRestored = false
        /// Whether a storage did not answer, so that changes must be sent again later.
        var isPostponed = false
        /// Whether a change waits for a person's action.
        var hasBlocked = false
        /// The delay that the server requests before postponed changes are sent again.
        var retryAfter: Duration?
        /// Files whose contents arrive when their owner, who has switched accounts, has uploaded them again.
        var awaited: [Change] = []
        /// Files that have been changing for too long to wait: `growing` or `rewritten`.
        var changing: [Change] = []
        /// Missing files whose deletions are not sent, since there are too many.
        var heldDeletions: [String] = []
        /// Whether another round has work to do immediately.
        var hasMore = false
        /// Whether the next round should wait a moment, for files that were just written to settle.
        var shouldPause = false
    }

    /// A change to a file.
    struct Change: Sendable, Hashable, Encodable {
        var path: String
        /// `contents`, `path` or `deletion`; for problems, a reason.
        var what: String

        init(path: String, what: String) {
            self.path = path
            self.what = what
        }

        init(path: RelativePath, _ what: RecordedFile.Pending) {
            self.path = path.text
            self.what =
                if what.contains(.deletion) { "deletion" } else if what.contains(.contents) { "contents" } else {
                    "path"
                }
        }
    }
}
