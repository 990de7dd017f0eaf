import SyncProtocol

/// A message with the parts of its endpoint's description that its row of the protocol's table and its parameters lack;
/// in `Endpoints`.
protocol DescribedRequest: RequestMessage {
    static var description: EndpointDescription { get }
}

extension EndpointRoute {
    /// All endpoints of release builds, in the order of the table.
    /// - Precondition: each has a description.
    static let described: [(route: EndpointRoute, description: EndpointDescription)] =
        EndpointName.allCases.map(\.route).filter { !$0.isDebugOnly }.map { route in
            guard let message = route.message as? any DescribedRequest.Type else {
                preconditionFailure("\(route.endpoint) is not described")
            }
            return (route, message.description)
        }
}

/// The parts of an endpoint's description that the route table and the messages lack.
struct EndpointDescription {
    /// One sentence.
    var summary: String
    /// Whether the group's identifier must be a real UUID.
    var isGroupUUID = false
    /// The object of a successful reply, in the body or in a header.
    var reply: JSON
    /// The statuses of successful replies with that object.
    var statuses = [200]
    /// The status of successful replies without an object; `statuses` has none then.
    var emptyStatus: Int?
    /// The body, if the endpoint accepts one.
    var body: JSON?
    /// Codes in addition to those derived from route and parameters.
    var errors: Set<ErrorCode> = []
    /// Headers of a successful reply, in addition to those of every reply.
    var replyHeaders: [String: JSON] = [:]
    /// Request headers, in addition to those for signing in.
    var requestHeaders: [RequestHeader: String] = [:]
    /// Whether a client may send a conditional request.
    var canBeNotModified = false
    /// Whether the reply can be 206, with a part of the body.
    var canBePartial = false

    /// All codes that a request to the endpoint can receive.
    func codes(_ route: EndpointRoute) -> Set<ErrorCode> {
        var codes = ErrorCode.anywhere.union(errors)
        if !route.message.parameters.names.isEmpty { codes.formUnion(ErrorCode.parameters) }
        if route.authentication != .none { codes.formUnion(ErrorCode.signingIn) }
        if route.authentication == .secondary { codes.formUnion(ErrorCode.users) }
        switch route.groupAccess {
        case .none, .membershipIfNamed: break
        case .membership: codes.insert(.notAMember)
        case .permission(let needed):
            codes.insert(.notAMember)
            if needed != .read { codes.insert(.permissionTooLow) }
        }
        return codes
    }
}

/// What a query parameter looks like and means. No default: a new parameter must be described here.
struct ParameterDescription {
    let schema: JSON
    let meaning: String

    static let uuid: JSON = [
        "type": "string", "minLength": 36, "maxLength": 36,
        "pattern": "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
    ]
    static let identifier: JSON = ["type": "string", "minLength": 1, "maxLength": 36]
    static let integer32: JSON = ["type": "integer", "minimum": 0, "maximum": 2_147_483_647]
    static let integer64: JSON = ["type": "integer", "minimum": 0, "maximum": 9_223_372_036_854_775_807]
    static let boolean: JSON = ["type": "string", "enum": ["1", "0", "true", "false"]]
    static let permission: JSON = ["type": "string", "enum": ["read", "write", "admin"]]

    /// - Parameter isGroupUUID: whether the endpoint requires its group's identifier to be a real UUID.
    init(_ name: ParameterName, isGroupUUID: Bool) {
        (schema, meaning) =
            switch name {
            case .acceptRetired:
                (Self.boolean, "Whether an account that an identity has left may become a new user.")
            case .actualDeletion: (["type": "string"], "No effect; a debugging aid of the predecessor.")
            case .allowSocialAcceptance:
                (Self.boolean, "Whether accounts without storage may redeem the invitation; default 1.")
            case .appMetaData:
                (
                    ["type": "string", "contentMediaType": "application/json"],
                    "JSON text of an object with `version` and `contents`."
                )
            case .appMetaDataVersion: (Self.integer32, "The committed version of the metadata.")
            case .batchCount:
                (
                    [
                        "type": "integer", "minimum": .integer(Int64(UploadBatch.allowedCounts.lowerBound)),
                        "maximum": .integer(Int64(UploadBatch.allowedCounts.upperBound)),
                    ], "How many changes the batch has. Only with `batchUUID`."
                )
            case .batchUUID:
                (Self.uuid, "Names a batch: the server commits all of its changes when the last one arrives.")
            case .checkSum:
                (
                    [
                        "type": "string", "minLength": 1, "maxLength": .integer(Int64(CheckSum.maximumDigits)),
                        "pattern": "^[0-9A-Fa-f]+$",
                    ], "Hexadecimal; the algorithm of the owner's storage: MD5, Dropbox's content hash, or SHA-1."
                )
            case .contentSHA256:
                (
                    ["type": "string", "minLength": 64, "maxLength": 64, "pattern": "^[0-9A-Fa-f]+$"],
                    "SHA-256 of the body."
                )
            case .cursor:
                (["type": "string", "minLength": 1], "Where the list continues: `nextCursor` of the previous page.")
            case .expectedEpoch: (Self.integer64, "The identity's epoch that the client knows.")
            case .missing:
                (
                    ["type": "string", "enum": ["keepGone", "markDeleted"]],
                    "What happens to files that still wait for their bytes; default keepGone."
                )
            case .moveContents:
                (
                    Self.boolean,
                    "Whether the server moves the bytes itself, if it can still read the former account."
                )
            case .storageHash:
                (
                    ["type": "string", "minLength": 28, "maxLength": 28, "pattern": "^[0-9A-Za-z+/]{27}=$"],
                    "With direct, for OneDrive: the quickXorHash of the bytes, in base64. Others ignore it."
                )
            case .switchId: (Self.uuid, "The account switch.")
            case .userAppId: (Self.uuid, "The identity.")
            case .cloudFolderName:
                (
                    ["type": "string", "minLength": 1, "maxLength": .integer(Int64(TextLimit.cloudFolderName))],
                    "Folder at the root of the person's storage; ignored for account types that need none."
                )
            case .commitId: (Self.uuid, "Identifies the commit; a repetition with the same id gets the same reply.")
            case .direct:
                (Self.boolean, "Whether the client offers to exchange the bytes with the owner's storage directly.")
            case .fileGroupUUID: (Self.identifier, "Groups related files; only with version 0.")
            case .fileUUID: (Self.uuid, "The file.")
            case .fileUUIDs: (["type": "string", "minLength": 36], "UUIDs of files, separated by commas.")
            case .fileVersion: (Self.integer32, "The version of the contents.")
            case .grantDeviceUUID:
                (Self.uuid, "The device whose grants are revoked; default all except the calling one.")
            case .masterVersion: (Self.integer64, "The group's master version that the client knows.")
            case .mimeType:
                (
                    ["type": "string", "minLength": 1, "maxLength": .integer(Int64(MIMEType.maximumCharacters))],
                    "The type of the contents; one that the server knows."
                )
            case .numberOfAcceptors:
                (
                    [
                        "type": "integer",
                        "minimum": .integer(
                            Int64(CreateSharingInvitationRequest.allowedNumberOfAcceptors.lowerBound)),
                        "maximum": .integer(
                            Int64(CreateSharingInvitationRequest.allowedNumberOfAcceptors.upperBound)),
                    ], "How many people may redeem the invitation; default 1."
                )
            case .omitLongAppMetaData:
                (
                    Self.boolean,
                    "Whether the header omits metadata longer than \(HeaderMetaData.maximumBytes) bytes."
                )
            case .permission: (Self.permission, "The person's permission.")
            case .pushNotificationEnvironment:
                (
                    ["type": "string", "enum": ["production", "sandbox"]],
                    "The Apple environment that issued the token; without it, the server tries both."
                )
            case .pushNotificationKind:
                (
                    ["type": "string", "enum": ["apns", "fcm"]],
                    "The service that issued the token; default APNs, through SNS if configured."
                )
            case .pushNotificationMessage: (["type": "string"], "Text to send to the other members after the commit.")
            case .pushNotificationToken:
                (["type": "string", "minLength": 1], "The device's token for push notifications.")
            case .reportIdentity: (Self.boolean, "Whether the reply includes the identity above the account.")
            case .sharingGroupName:
                (
                    ["type": "string", "maxLength": .integer(Int64(TextLimit.sharingGroupName))],
                    "The group's name; free text."
                )
            case .sharingGroupUUID: (isGroupUUID ? Self.uuid : Self.identifier, "The sharing group.")
            case .sharingInvitationUUID: (Self.uuid, "The invitation's code.")
            case .since: (Self.integer64, "Limits the list to changes after this master version; only with a group.")
            case .testLockSync, .testServerSleep:
                (Self.integer32, "No effect; a debugging aid of the predecessor.")
            case .undeleteServerFile: (Self.boolean, "Whether this version restores a deleted file.")
            case .uploadUUID: (Self.uuid, "The upload, as named by the reply that created it.")
            case .userId: (Self.integer64, "The member.")
            }
    }
}
