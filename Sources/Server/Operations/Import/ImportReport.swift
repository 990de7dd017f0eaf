/// The result of an import, or of a dry run.
public struct ImportReport: Equatable, Sendable, Codable {
    public struct Users: Equatable, Sendable, Codable {
        public var added = 0
        public var updated = 0
        public var unchanged = 0
        /// The number that stays unchanged here.
        public var leftAlone = 0
        public var devicesAdded = 0
        /// The number of push notification topics imported.
        public var pushTopics = 0
    }

    public struct Groups: Equatable, Sendable, Codable {
        public var added = 0
        public var updated = 0
        public var unchanged = 0
        /// The number that stays unchanged here.
        public var leftAlone = 0
        /// The number of files in added or updated groups.
        public var filesWritten = 0
        public var stagedChangesAdded = 0
        public var invitationsAdded = 0
    }

    /// Whether nothing was written.
    public var isDryRun: Bool
    public var users = Users()
    public var groups = Groups()
    public var notes: [ImportNote] = []

    public init(isDryRun: Bool) {
        self.isDryRun = isDryRun
    }

    /// The count of each reason, most frequent first.
    public var summary: [(outcome: ImportNote.Outcome, reason: ImportNote.Reason, count: Int)] {
        var counts: [String: (outcome: ImportNote.Outcome, reason: ImportNote.Reason, count: Int)] = [:]
        for note in notes {
            counts["\(note.outcome) \(note.reason)", default: (note.outcome, note.reason, 0)].count += 1
        }
        return counts.values.sorted { ($1.count, $0.reason.rawValue) < ($0.count, $1.reason.rawValue) }
    }
}
