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

/// A row that was skipped or changed by the import, and the reason.
public struct ImportNote: Equatable, Sendable, Codable {
    /// The outcome for the row.
    public enum Outcome: String, Sendable, Codable {
        /// It was not imported.
        case skipped
        /// It was imported with changes.
        case adjusted
        /// It already existed here, and was left unchanged.
        case leftAlone
    }

    /// The reason; the raw value appears in reports and docs/operations.md.
    public enum Reason: String, Sendable, Codable, CaseIterable {
        // Users
        case unknownAccountType
        case accountIDUnusable
        case accountListedTwice
        case credentialsUnreadable
        case accessTokenMissing
        case userNumberTaken
        case removedHereSince
        case signedInHereSince
        case removedAtSource
        case deviceUUIDUnusable
        // Groups
        case groupUUIDUnusable
        case groupListedTwice
        case groupMadeHere
        case changedHereSince
        case masterVersionMissing
        case groupWithoutMembers
        case memberUnknown
        case memberListedTwice
        case permissionUnknown
        case owningUserGone
        // Files
        case fileUUIDUnusable
        case fileListedTwice
        case fileInTwoGroups
        case fileVersionUnusable
        case mimeTypeUnusable
        case mimeTypeUnknown
        case ownerGone
        case dateUnusable
        case checkSumUnusable
        case fileGroupUUIDUnusable
        case appMetaDataTooLong
        case appMetaDataVersionMissing
        case appMetaDataMissing
        // Work in progress
        case uploadStateUnused
        case uploadIncomplete
        case uploaderNotAMember
        case invitationExpired
        case invitationUnusable
        case invitationOwnerGone
        // Anywhere
        case belongsToNothing
    }

    public var table: String
    /// The row's identifier, never a name or a token.
    public var row: String
    public var outcome: Outcome
    public var reason: Reason

    public init(_ table: String, _ row: String, _ outcome: Outcome, _ reason: Reason) {
        self.table = table
        self.row = row
        self.outcome = outcome
        self.reason = reason
    }
}
