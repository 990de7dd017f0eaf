/// Which events a stream delivers.
public struct EventDesired: OptionSet, Sendable, Hashable {
    /// The bits, one per kind of event.
    public let rawValue: Int

    /// Creates a set of kinds from their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    public static let willStartDownloads = Self(rawValue: 1 << 0)
    public static let willStartUploads = Self(rawValue: 1 << 1)
    public static let singleFileUploadComplete = Self(rawValue: 1 << 2)
    public static let singleFileUploadWaiting = Self(rawValue: 1 << 3)
    public static let singleAppMetaDataUploadComplete = Self(rawValue: 1 << 4)
    public static let singleUploadDeletionComplete = Self(rawValue: 1 << 5)
    public static let contentUploadsCompleted = Self(rawValue: 1 << 6)
    public static let uploadDeletionsCompleted = Self(rawValue: 1 << 7)
    public static let sharingGroupUploadOperationCompleted = Self(rawValue: 1 << 8)
    public static let sharingGroupOwningUserRemoved = Self(rawValue: 1 << 9)
    public static let syncDelayed = Self(rawValue: 1 << 10)
    public static let syncStarted = Self(rawValue: 1 << 11)
    public static let syncDone = Self(rawValue: 1 << 12)
    public static let syncStopping = Self(rawValue: 1 << 13)
    public static let serverDown = Self(rawValue: 1 << 14)
    public static let refreshingCredentials = Self(rawValue: 1 << 15)
    public static let minimumIOSClientVersion = Self(rawValue: 1 << 16)
    public static let singleFileUploadFailed = Self(rawValue: 1 << 17)
    public static let accountSwitchProgress = Self(rawValue: 1 << 18)
    public static let accountSwitchFinished = Self(rawValue: 1 << 19)
    public static let filesRestored = Self(rawValue: 1 << 20)
    public static let serverRestored = Self(rawValue: 1 << 21)

    /// The events that most apps show.
    public static let defaults: Self = [
        .singleFileUploadComplete, .singleUploadDeletionComplete, .contentUploadsCompleted, .uploadDeletionsCompleted,
        .singleFileUploadFailed, .singleFileUploadWaiting, .filesRestored, .serverRestored, .accountSwitchProgress,
        .accountSwitchFinished,
    ]
    /// All kinds of events.
    public static let all = Self(rawValue: (1 << 22) - 1)
}

extension SyncEvent {
    /// The kind of the event.
    public var kind: EventDesired {
        switch self {
        case .willStartDownloads: .willStartDownloads
        case .willStartUploads: .willStartUploads
        case .singleFileUploadComplete: .singleFileUploadComplete
        case .singleFileUploadWaiting: .singleFileUploadWaiting
        case .filesRestored: .filesRestored
        case .serverRestored: .serverRestored
        case .singleFileUploadFailed: .singleFileUploadFailed
        case .singleAppMetaDataUploadComplete: .singleAppMetaDataUploadComplete
        case .singleUploadDeletionComplete: .singleUploadDeletionComplete
        case .contentUploadsCompleted: .contentUploadsCompleted
        case .uploadDeletionsCompleted: .uploadDeletionsCompleted
        case .sharingGroupUploadOperationCompleted: .sharingGroupUploadOperationCompleted
        case .sharingGroupOwningUserRemoved: .sharingGroupOwningUserRemoved
        case .syncDelayed: .syncDelayed
        case .syncStarted: .syncStarted
        case .syncDone: .syncDone
        case .syncStopping: .syncStopping
        case .accountSwitchProgress: .accountSwitchProgress
        case .accountSwitchFinished: .accountSwitchFinished
        case .serverDown: .serverDown
        case .refreshingCredentials: .refreshingCredentials
        case .minimumIOSClientVersion: .minimumIOSClientVersion
        }
    }
}
