public import SyncProtocol

/// All that a client keeps track of, for a log or a bug report.
///
/// Holds ids, versions and states. Texts, names, paths and contents are left out, so that it can be sent to a developer.
public struct TrackingReport: Sendable, Hashable, CustomStringConvertible {
    /// The last line. Whatever has it is complete.
    public static let endMark = "tracking ends"

    /// A change that waits to be sent.
    public struct PendingChange: Sendable, Hashable {
        /// What is to be changed.
        public enum Kind: String, Sendable {
            case file, appMetaData, deletion, groupCreation, groupRename, groupRemoval
        }

        /// Where the queue of a change is in its life.
        public enum QueueState: String, Sendable {
            /// Takes further changes; a sync closes it.
            case open
            /// Will be sent.
            case closed
            /// Will never be sent, because the user is not in the group any more.
            case dead
        }

        /// What is to be changed.
        public let kind: Kind
        /// Where its queue is.
        public let queue: QueueState
        /// The sharing group.
        public let sharingGroupUUID: SharingGroupUUID
        /// The file; nil for operations on the group.
        public let fileUUID: FileUUID?
        /// Whether the server has it already, and only the commit is missing.
        public let isStaged: Bool
        /// How often a request for it failed.
        public let attempts: Int
        /// Why it failed last; nil if it never did.
        public let lastError: String?
    }

    /// One line for each row that the client stores, between a first line and ``endMark``.
    public let lines: [String]
    /// What waits to be sent, oldest first.
    public let pending: [PendingChange]
    /// What contradicts the rules by which the client keeps its state: defects of the library; empty if there is none.
    public let violations: [String]

    init(lines: [String], pending: [PendingChange], violations: [String]) {
        self.lines = ["tracking begins"] + lines + [Self.endMark]
        self.pending = pending
        self.violations = violations
    }

    /// The lines.
    public var description: String { lines.joined(separator: "\n") }
}
