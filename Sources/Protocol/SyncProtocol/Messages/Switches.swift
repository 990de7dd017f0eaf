/// Proposes to switch an identity to the account whose credentials the request has; nothing changes until the switch is
/// confirmed.
public struct BeginAccountSwitchRequest: RequestMessage {
    public typealias Response = BeginAccountSwitchResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.beginAccountSwitch
    public static let fields = QueryFields(
        Self.init,
        .required(.userAppId, \.userAppId),
        .optionalText(.cloudFolderName, \.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName))

    /// The identity that is to switch.
    public let userAppId: UserAppID
    /// Folder in the new account's storage, at most 256 characters. Ignored unless the account type needs one.
    public let cloudFolderName: String?

    /// Creates a request.
    public init(userAppId: UserAppID, cloudFolderName: String? = nil) {
        self.userAppId = userAppId
        self.cloudFolderName = cloudFolderName
    }
}

/// The state of an account switch.
public enum AccountSwitchState: String, Sendable, Hashable, Codable, CaseIterable {
    /// There is no switch.
    case none
    /// The switch was begun, and nothing has changed yet.
    case proposed
    /// The switch is confirmed: the account is active, and files are being uploaded again.
    case reuploading
    /// The switch has ended.
    case finished
}

/// The consequences of a switch, for the person who is to confirm it.
public struct BeginAccountSwitchResponse: ResponseMessage {
    /// A person whose new files are stored in the account to be left.
    public struct HostedUser: Sendable, Hashable, Decodable {
        /// The person.
        public let userId: UserID
        /// The person's name.
        public let name: String

        /// Creates a description.
        public init(userId: UserID, name: String) {
            self.userId = userId
            self.name = name
        }
    }

    /// The switch.
    public let switchId: AccountSwitchID
    /// ``AccountSwitchState/proposed``, or the state of the switch that the request has joined.
    public let state: AccountSwitchState
    /// The type of the account to be left.
    public let fromAccountType: AccountType
    /// The type of the new account.
    public let toAccountType: AccountType
    /// Whether files must be uploaded again.
    public let reuploadRequired: Bool
    /// The number of these files.
    public let numberOfFiles: Int64
    /// The total size of these files, as far as known.
    public let approximateBytes: Int64
    /// The people whose files will move to the new storage as well.
    public let hostedUsers: [HostedUser]
    /// When the proposal expires.
    public let expiresAt: WireDate

    /// Creates a response.
    public init(
        switchId: AccountSwitchID, state: AccountSwitchState, fromAccountType: AccountType,
        toAccountType: AccountType, numberOfFiles: Int64, approximateBytes: Int64, hostedUsers: [HostedUser],
        expiresAt: WireDate
    ) {
        self.switchId = switchId
        self.state = state
        self.fromAccountType = fromAccountType
        self.toAccountType = toAccountType
        reuploadRequired = numberOfFiles > 0
        self.numberOfFiles = numberOfFiles
        self.approximateBytes = approximateBytes
        self.hostedUsers = hostedUsers
        self.expiresAt = expiresAt
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("switchId", switchId)
            writer.field("state", state)
            writer.field("fromAccountType", fromAccountType)
            writer.field("toAccountType", toAccountType)
            writer.field("reuploadRequired", reuploadRequired)
            writer.field("numberOfFiles", numberOfFiles)
            writer.field("approximateBytes", approximateBytes)
            writer.field("hostedUsers", objects: hostedUsers) { user, writer in
                writer.field("userId", user.userId)
                writer.field("name", text: user.name)
            }
            writer.field("expiresAt", expiresAt)
        }
    }
}

/// Performs a proposed switch; the credentials are those of the new account.
public struct ConfirmAccountSwitchRequest: RequestMessage {
    public typealias Response = ConfirmAccountSwitchResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.confirmAccountSwitch
    public static let fields = QueryFields(
        Self.init,
        .required(.switchId, \.switchId),
        .required(.expectedEpoch, \.expectedEpoch),
        .flag(.moveContents, \.moveContents))

    /// The switch.
    public let switchId: AccountSwitchID
    /// The identity's epoch as the client knows it.
    public let expectedEpoch: AccountEpoch
    /// Whether the server should move the files' bytes itself, if it can still read the former account.
    public let moveContents: Bool

    /// Creates a request.
    public init(switchId: AccountSwitchID, expectedEpoch: AccountEpoch, moveContents: Bool = false) {
        self.switchId = switchId
        self.expectedEpoch = expectedEpoch
        self.moveContents = moveContents
    }
}

/// The outcome of a confirmed switch; the same for a repeated request.
public struct ConfirmAccountSwitchResponse: ResponseMessage {
    /// The epoch after the switch.
    public let accountEpoch: AccountEpoch
    /// The number of files that wait for their bytes because of the switch.
    public let numberAwaiting: Int64
    /// Whether the server moves the files' bytes itself; nil if the request did not ask for it.
    public let movesContents: Bool?

    /// Creates a response.
    public init(accountEpoch: AccountEpoch, numberAwaiting: Int64, movesContents: Bool? = nil) {
        self.accountEpoch = accountEpoch
        self.numberAwaiting = numberAwaiting
        self.movesContents = movesContents
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("accountEpoch", accountEpoch)
            writer.field("numberAwaiting", numberAwaiting)
            if let movesContents { writer.field("movesContents", movesContents) }
        }
    }
}

/// Ends a switch, and gives up the files that still wait for their bytes.
public struct FinishAccountSwitchRequest: RequestMessage {
    public typealias Response = FinishAccountSwitchResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.finishAccountSwitch
    public static let fields = QueryFields(
        Self.init,
        .required(.switchId, \.switchId),
        .optional(.missing, \.missing, default: .keepGone))

    /// The switch.
    public let switchId: AccountSwitchID
    /// What happens to the files that still wait.
    public let missing: MissingFiles

    /// Creates a request.
    public init(switchId: AccountSwitchID, missing: MissingFiles = .keepGone) {
        self.switchId = switchId
        self.missing = missing
    }
}

/// What happens, when a switch ends, to files whose bytes have not been uploaded again.
public enum MissingFiles: String, QueryValue, Hashable, CaseIterable {
    /// Downloads report them as gone; ReuploadFile may still restore them.
    case keepGone
    /// They are deleted.
    case markDeleted

    /// What the form of the value is called in error messages.
    public static let expectedForm = ExpectedForm.text
}

/// The outcome of an ended switch; the same for a repeated request.
public struct FinishAccountSwitchResponse: ResponseMessage {
    /// The identity's current epoch.
    public let accountEpoch: AccountEpoch

    /// Creates a response.
    public init(accountEpoch: AccountEpoch) {
        self.accountEpoch = accountEpoch
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("accountEpoch", accountEpoch)
        }
    }
}

/// Withdraws a proposed switch, with the credentials of either account.
public struct CancelAccountSwitchRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.cancelAccountSwitch
    public static let fields = QueryFields(Self.init, .required(.switchId, \.switchId))

    /// The switch.
    public let switchId: AccountSwitchID

    /// Creates a request.
    public init(switchId: AccountSwitchID) {
        self.switchId = switchId
    }
}

/// Undoes switches away from the account whose credentials the request has, and reactivates that account.
///
/// The request has a new authorization code of the account, or its password, and presents the device's grant.
public struct UndoAccountSwitchRequest: RequestMessage {
    public typealias Response = UndoAccountSwitchResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.undoAccountSwitch
    public static let fields = QueryFields(Self.init, .required(.userAppId, \.userAppId))

    /// The identity.
    public let userAppId: UserAppID

    /// Creates a request.
    public init(userAppId: UserAppID) {
        self.userAppId = userAppId
    }
}

/// The outcome of an undo, which is itself a switch.
public struct UndoAccountSwitchResponse: ResponseMessage {
    /// The switch that performs the undo.
    public let switchId: AccountSwitchID
    /// The new epoch of the identity.
    public let accountEpoch: AccountEpoch
    /// How many files wait for their bytes.
    public let numberAwaiting: Int64
    /// Whether the server moves them itself out of the account that was active in the meantime.
    public let movesContents: Bool

    /// Creates a response.
    public init(
        switchId: AccountSwitchID, accountEpoch: AccountEpoch, numberAwaiting: Int64, movesContents: Bool
    ) {
        self.switchId = switchId
        self.accountEpoch = accountEpoch
        self.numberAwaiting = numberAwaiting
        self.movesContents = movesContents
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("switchId", switchId)
            writer.field("accountEpoch", accountEpoch)
            writer.field("numberAwaiting", numberAwaiting)
            writer.field("movesContents", movesContents)
        }
    }
}
