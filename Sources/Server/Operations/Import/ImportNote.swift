/// A row that was skipped or changed by the import, and the reason.
public struct ImportNote: Equatable, Sendable, Codable {
    /// The outcome for the row.
    public enum Outcome: String, Sendable, Codable {
        /// It was not imported.
        case skipped
        /// It was imported with changes.
        case adjusted
        /// It already existed here, and stays unchanged.
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
