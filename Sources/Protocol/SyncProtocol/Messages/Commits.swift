/// Commits everything that this user has staged on this device in one group.
public struct DoneUploadsRequest: RequestMessage {
    public typealias Response = DoneUploadsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.doneUploads
    public static let fields = QueryFields(
        Self.init,
        .required(.masterVersion, \.masterVersion),
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .optionalText(.sharingGroupName, \.sharingGroupName, maximumCharacters: TextLimit.sharingGroupName),
        .optional(.pushNotificationMessage, \.pushNotificationMessage),
        .optional(.commitId, \.commitID),
        .optional(.testLockSync, \.testLockSync))

    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?
    /// Text to send to the other members.
    public let pushNotificationMessage: String?
    /// Distinguishes this commit from all others of this device in this group: a repeated id gets the reply of the
    /// first.
    public let commitID: CommitID?
    /// Debug only: seconds to wait while holding the group's lock.
    public let testLockSync: Int32?

    /// Creates a request.
    public init(
        masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil,
        pushNotificationMessage: String? = nil, commitID: CommitID? = nil, testLockSync: Int32? = nil
    ) {
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
        self.pushNotificationMessage = pushNotificationMessage
        self.commitID = commitID
        self.testLockSync = testLockSync
    }
}

/// The response to a commit.
public enum DoneUploadsResponse: ResponseMessage {
    /// Everything was committed. Counts uploads, metadata changes and deletions together; may be 0.
    case committed(numberUploadsTransferred: Int32)
    /// The client's master version is stale. Nothing was done.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of a stale master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case numberUploadsTransferred, masterVersionUpdate
    }

    /// Decodes a reply; `numberUploadsTransferred` takes precedence over `masterVersionUpdate`, here only.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let number = try container.optionalNumber(.numberUploadsTransferred, as: Int32.self) {
            self = .committed(numberUploadsTransferred: number)
        } else {
            self = .stale(current: try container.decode(MasterVersion.self, forKey: .masterVersionUpdate))
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .committed(let number): writer.field("numberUploadsTransferred", number)
            case .stale(let current): writer.field("masterVersionUpdate", current)
            }
        }
    }
}

/// A self-committing batch of staged changes: the last one to arrive commits all of them.
///
/// For transfers that continue while the app is not running, and therefore cannot send ``DoneUploadsRequest``.
public struct UploadBatch: Sendable, Hashable {
    /// The allowed number of files that one batch changes.
    public static let allowedCounts: ClosedRange<Int32> = 1...1_000

    /// The batch's id, which becomes the id of its commit.
    public let batchUUID: BatchUUID
    /// The number of files that the batch changes; the same in all its requests.
    public let batchCount: Int32
    /// Text to send to the other members when the batch is committed. One request of the batch suffices; if several
    /// contain a text, the last to arrive counts.
    public let pushNotificationMessage: String?

    /// Creates a batch.
    public init(batchUUID: BatchUUID, batchCount: Int32, pushNotificationMessage: String? = nil) {
        self.batchUUID = batchUUID
        self.batchCount = batchCount
        self.pushNotificationMessage = pushNotificationMessage
    }

    /// Interprets the parameters; nil if the query contains none of them.
    fileprivate init?(_ query: DecodedQuery) throws(RequestError) {
        let message: String? = try query.optional(.pushNotificationMessage)
        let count: Int32? = try query.optional(.batchCount)
        guard let batchUUID: BatchUUID = try query.optional(.batchUUID) else {
            guard count == nil, message == nil else { throw .missing(.batchUUID) }
            return nil
        }
        guard let count else { throw .missing(.batchCount) }
        try Self.allowedCounts.check(count, of: .batchCount)
        self.init(batchUUID: batchUUID, batchCount: count, pushNotificationMessage: message)
    }
}

extension QueryField where Value == UploadBatch? {
    /// The batch of a request that may belong to one.
    static func batch(_ property: Property) -> Self {
        Self(
            parameters: ParameterList(optional: [.batchUUID, .batchCount], alwaysEncoded: [.pushNotificationMessage]),
            decode: { query throws(RequestError) in try UploadBatch(query) },
            encode: { message, encoder in
                guard let batch = message[keyPath: property] else { return }
                encoder.add(.batchUUID, batch.batchUUID)
                encoder.add(.batchCount, batch.batchCount)
                encoder.add(.pushNotificationMessage, batch.pushNotificationMessage)
            })
    }
}
