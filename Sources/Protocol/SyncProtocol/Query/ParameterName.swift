/// The names of all query parameters of all endpoints; case-sensitive.
public enum ParameterName: String, Sendable, Hashable, CaseIterable, Comparable {
    case acceptRetired
    /// Debug only: delete at once instead of staging.
    case actualDeletion
    case allowSocialAcceptance
    case appMetaData
    case appMetaDataVersion
    case batchCount
    case batchUUID
    case checkSum
    case cloudFolderName
    case commitId
    case contentSHA256
    case cursor
    case direct
    case expectedEpoch
    case fileGroupUUID
    case fileUUID
    case fileUUIDs
    case fileVersion
    case grantDeviceUUID
    case masterVersion
    case mimeType
    case missing
    case moveContents
    case numberOfAcceptors
    /// DownloadFile: omit metadata that are too long for a header.
    case omitLongAppMetaData
    case permission
    case pushNotificationEnvironment
    case pushNotificationKind
    case pushNotificationMessage
    case pushNotificationToken
    case reportIdentity
    case sharingGroupName
    case sharingGroupUUID
    case sharingInvitationUUID
    case since
    case storageHash
    case switchId
    /// Debug only: seconds to wait while holding the group's lock.
    case testLockSync
    /// Debug only: seconds to wait before replying.
    case testServerSleep
    case undeleteServerFile
    case uploadUUID
    case userAppId
    case userId

    /// The order of the names' bytes, in which clients send parameters.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }

    /// Whether the value is text that a person wrote or that is opaque to the server, so that it may contain an
    /// unescaped `&`.
    public var isFreeText: Bool {
        switch self {
        case .cloudFolderName, .pushNotificationMessage, .pushNotificationToken, .sharingGroupName: true
        default: false
        }
    }
}
