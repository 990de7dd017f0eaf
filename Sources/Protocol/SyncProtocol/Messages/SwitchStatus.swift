/// Requests the progress of a switch, with the credentials of either account.
public struct GetAccountSwitchStatusRequest: RequestMessage {
    public typealias Response = GetAccountSwitchStatusResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.getAccountSwitchStatus
    public static let fields = QueryFields(
        Self.init,
        .optional(.switchId, \.switchId),
        .optional(.cursor, \.cursor))

    /// The switch; nil for the newest.
    public let switchId: AccountSwitchID?
    /// Where the list continues, from the previous page.
    public let cursor: AccountSwitchCursor?

    /// Creates a request.
    public init(switchId: AccountSwitchID? = nil, cursor: AccountSwitchCursor? = nil) {
        self.switchId = switchId
        self.cursor = cursor
    }
}

/// A position in the list of files that wait for their bytes; opaque to clients.
public struct AccountSwitchCursor: WireText, Hashable {
    /// The name of the value's form in error messages.
    public static let expectedForm = ExpectedForm.text

    /// The server's number for the group of the previous file.
    public let group: Int64
    /// The previous file.
    public let file: FileUUID

    /// Creates a cursor.
    public init(group: Int64, file: FileUUID) {
        self.group = group
        self.file = file
    }

    /// Parses the text of ``rawValue``.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let group = Int64(parts[0]), let file = FileUUID(String(parts[1])) else { return nil }
        self.init(group: group, file: file)
    }

    /// Number and file, with a dot in between.
    public var rawValue: String { "\(group).\(file.rawValue)" }
}

/// The progress of a switch, and a page of the files that wait for their bytes.
public struct GetAccountSwitchStatusResponse: ResponseMessage {
    /// Maximum number of files on a page.
    public static let pageSize = 500

    /// A file that waits for its bytes.
    public struct AwaitingFile: Sendable, Hashable, Decodable {
        public let fileUUID: FileUUID
        public let sharingGroupUUID: SharingGroupUUID
        public let fileGroupUUID: FileGroupUUID?
        /// The version whose bytes are missing.
        public let fileVersion: FileVersion
        public let mimeType: MIMEType
        public let owningUserId: UserID

        /// Creates a description.
        public init(
            fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, fileGroupUUID: FileGroupUUID?,
            fileVersion: FileVersion, mimeType: MIMEType, owningUserId: UserID
        ) {
            self.fileUUID = fileUUID
            self.sharingGroupUUID = sharingGroupUUID
            self.fileGroupUUID = fileGroupUUID
            self.fileVersion = fileVersion
            self.mimeType = mimeType
            self.owningUserId = owningUserId
        }
    }

    /// The progress of the server's own move of the bytes.
    public struct ServerMove: Sendable, Hashable, Decodable {
        public let state: ServerMoveState
        /// The number of files moved.
        public let numberMoved: Int64
        /// The number of bytes moved.
        public let bytesMoved: Int64
        /// The number of files that the server cannot move; they wait for a device.
        public let numberFailed: Int64

        /// Creates a description.
        public init(state: ServerMoveState, numberMoved: Int64, bytesMoved: Int64, numberFailed: Int64) {
            self.state = state
            self.numberMoved = numberMoved
            self.bytesMoved = bytesMoved
            self.numberFailed = numberFailed
        }
    }

    /// The state; ``AccountSwitchState/none`` if there is no switch.
    public let state: AccountSwitchState
    /// The switch, or nil.
    public let switchId: AccountSwitchID?
    /// The identity's current epoch.
    public let accountEpoch: AccountEpoch
    /// The number of files that wait for their bytes.
    public let numberAwaiting: Int64
    /// The number of affected files that no longer wait.
    public let numberDone: Int64
    /// Where the list continues; nil on its last page.
    public let nextCursor: AccountSwitchCursor?
    /// The files that wait.
    public let awaiting: [AwaitingFile]
    /// The server's own move, or nil.
    public let serverMove: ServerMove?

    /// Creates a response.
    public init(
        state: AccountSwitchState, switchId: AccountSwitchID?, accountEpoch: AccountEpoch, numberAwaiting: Int64 = 0,
        numberDone: Int64 = 0, nextCursor: AccountSwitchCursor? = nil, awaiting: [AwaitingFile] = [],
        serverMove: ServerMove? = nil
    ) {
        self.state = state
        self.switchId = switchId
        self.accountEpoch = accountEpoch
        self.numberAwaiting = numberAwaiting
        self.numberDone = numberDone
        self.nextCursor = nextCursor
        self.awaiting = awaiting
        self.serverMove = serverMove
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("state", state)
            writer.field("switchId", switchId)
            writer.field("accountEpoch", accountEpoch)
            writer.field("numberAwaiting", numberAwaiting)
            writer.field("numberDone", numberDone)
            writer.field("nextCursor", text: nextCursor?.rawValue)
            writer.field("awaiting", objects: awaiting) { file, writer in
                writer.field("fileUUID", file.fileUUID)
                writer.field("sharingGroupUUID", file.sharingGroupUUID)
                writer.field("fileGroupUUID", file.fileGroupUUID)
                writer.field("fileVersion", file.fileVersion)
                writer.field("mimeType", text: file.mimeType.rawValue)
                writer.field("owningUserId", file.owningUserId)
            }
            if let serverMove {
                writer.key("serverMove")
                writer.object { writer in
                    writer.field("state", serverMove.state)
                    writer.field("numberMoved", serverMove.numberMoved)
                    writer.field("bytesMoved", serverMove.bytesMoved)
                    writer.field("numberFailed", serverMove.numberFailed)
                }
            }
        }
    }
}

/// The state of the server's own move of files' bytes.
public enum ServerMoveState: String, Sendable, Hashable, Codable, CaseIterable {
    /// The server is moving files.
    case moving
    /// The server has tried all files.
    case done
    /// The server can no longer read the former account.
    case failed
    /// The switch was finished, or another one was begun.
    case ended
}
