/// What an import did, or would do.
public struct ImportReport: Equatable, Sendable, Codable {
    public struct Users: Equatable, Sendable, Codable {
        public var added = 0
        public var updated = 0
        public var unchanged = 0
        /// Left as they are here.
        public var leftAlone = 0
        public var devicesAdded = 0
        /// Push notification topics imported.
        public var pushTopics = 0
    }

    public struct Groups: Equatable, Sendable, Codable {
        public var added = 0
        public var updated = 0
        public var unchanged = 0
        /// Left as they are here.
        public var leftAlone = 0
        /// Files of the groups that were added or updated.
        public var filesWritten = 0
        public var stagedChangesAdded = 0
        public var invitationsAdded = 0
    }

    /// Nothing was written.
    public var isDryRun: Bool
    public var users = Users()
    public var groups = Groups()
    public var notes: [ImportNote] = []

    public init(isDryRun: Bool) {
        self.isDryRun = isDryRun
    }

    /// How often each reason occurs, most frequent first.
    public var summary: [(outcome: ImportNote.Outcome, reason: ImportNote.Reason, count: Int)] {
        var counts: [String: (outcome: ImportNote.Outcome, reason: ImportNote.Reason, count: Int)] = [:]
        for note in notes {
            counts["\(note.outcome) \(note.reason)", default: (note.outcome, note.reason, 0)].count += 1
        }
        return counts.values.sorted { ($1.count, $0.reason.rawValue) < ($0.count, $1.reason.rawValue) }
    }
}
