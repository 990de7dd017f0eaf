/// The closed list of the parameters that one endpoint knows.
///
/// Decoding a query depends on it: clients do not encode `&`, and only the list distinguishes a separator from text.
public struct ParameterList: Sendable {
    /// One parameter with the information that decoding needs.
    struct Entry: Sendable {
        let name: ParameterName
        let bytes: [UInt8]
        let isRequired: Bool
        let isFreeText: Bool
    }

    /// In the order in which clients send them.
    let entries: [Entry]
    let hasFreeText: Bool

    /// Creates a list of parameters.
    ///
    /// `alwaysEncoded` lists texts that deployed clients do not send to this endpoint: clients that send them encode a
    /// `&` in the text, so that none needs to be recovered.
    public init(
        required: [ParameterName] = [], optional: [ParameterName] = [], alwaysEncoded: [ParameterName] = []
    ) {
        self.init(
            (required + optional + alwaysEncoded).map { name in
                Entry(
                    name: name, bytes: Array(name.rawValue.utf8), isRequired: required.contains(name),
                    isFreeText: name.isFreeText && !alwaysEncoded.contains(name))
            })
    }

    /// All parameters of several lists.
    init(combining lists: [ParameterList]) { self.init(lists.flatMap(\.entries)) }

    private init(_ unsorted: [Entry]) {
        entries = unsorted.sorted { $0.name < $1.name }
        hasFreeText = entries.contains(where: \.isFreeText)
        precondition(Set(names).count == entries.count, "a parameter is listed twice")
        precondition(!hasFreeText || !names.contains(.appMetaData), "recovery of & supports either text or metadata")
    }

    /// All names, in ascending order.
    public var names: [ParameterName] { entries.map(\.name) }

    /// Whether this parameter is required.
    public func requires(_ name: ParameterName) -> Bool {
        entries.contains { $0.name == name && $0.isRequired }
    }

    /// The index of the entry with this name, as UTF-8.
    func index(named name: some Collection<UInt8>) -> Int? {
        entries.firstIndex { $0.bytes.count == name.count && $0.bytes.elementsEqual(name) }
    }
}

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
