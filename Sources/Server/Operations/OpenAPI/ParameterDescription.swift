import SyncProtocol

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
                (Self.boolean, "Whether an account that an identity has switched away from may begin anew.")
            case .actualDeletion: (["type": "string"], "No effect; an aid of the predecessor's debugging builds.")
            case .allowSocialAcceptance:
                (Self.boolean, "Whether accounts without storage may redeem the invitation; 1 unless given.")
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
                    ], "How many changes the batch has. Only together with `batchUUID`."
                )
            case .batchUUID:
                (Self.uuid, "Names a batch: when its last change arrives, all of them are committed at once.")
            case .checkSum:
                (
                    [
                        "type": "string", "minLength": 1, "maxLength": .integer(Int64(CheckSum.maximumDigits)),
                        "pattern": "^[0-9A-Fa-f]+$",
                    ], "Hexadecimal, in the flavour of the owner's storage: MD5, Dropbox's content hash, or SHA-1."
                )
            case .contentSHA256:
                (
                    ["type": "string", "minLength": 64, "maxLength": 64, "pattern": "^[0-9A-Fa-f]+$"],
                    "SHA-256 of the body."
                )
            case .cursor:
                (["type": "string", "minLength": 1], "Where the list continues: `nextCursor` of the page before.")
            case .expectedEpoch: (Self.integer64, "The identity's epoch as the client knows it.")
            case .missing:
                (
                    ["type": "string", "enum": ["keepGone", "markDeleted"]],
                    "What becomes of files that still wait for their bytes; keepGone unless given."
                )
            case .moveContents:
                (
                    Self.boolean,
                    "Whether the server is to move the bytes itself, if it can still read the former account."
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
                    "Folder at the root of the person's drive; accounts of Google need it, others ignore it."
                )
            case .commitId: (Self.uuid, "Names the commit; a repeated request with the same name gets the same reply.")
            case .direct:
                (Self.boolean, "Whether the client itself exchanges the bytes with the owner's storage, if it can.")
            case .fileGroupUUID: (Self.identifier, "Ties files together; with version 0 only.")
            case .fileUUID: (Self.uuid, "The file.")
            case .fileUUIDs: (["type": "string", "minLength": 36], "Files, as UUIDs with commas between them.")
            case .fileVersion: (Self.integer32, "The version of the contents.")
            case .grantDeviceUUID:
                (Self.uuid, "The device whose grants are revoked; all but the calling one unless given.")
            case .masterVersion: (Self.integer64, "The group's master version as the client knows it.")
            case .mimeType:
                (
                    ["type": "string", "minLength": 1, "maxLength": .integer(Int64(MIMEType.maximumCharacters))],
                    "What kind of contents; one of the types that the server knows."
                )
            case .numberOfAcceptors:
                (
                    [
                        "type": "integer",
                        "minimum": .integer(
                            Int64(CreateSharingInvitationRequest.allowedNumberOfAcceptors.lowerBound)),
                        "maximum": .integer(
                            Int64(CreateSharingInvitationRequest.allowedNumberOfAcceptors.upperBound)),
                    ], "How many people may redeem the invitation; 1 unless given."
                )
            case .omitLongAppMetaData:
                (
                    Self.boolean,
                    "Whether metadata longer than \(HeaderMetaData.maximumBytes) bytes are left out of the header, for DownloadAppMetaData."
                )
            case .permission: (Self.permission, "What the person may do.")
            case .pushNotificationEnvironment:
                (
                    ["type": "string", "enum": ["production", "sandbox"]],
                    "Which of Apple's two worlds the token is from; the server finds out unless it is given."
                )
            case .pushNotificationKind:
                (
                    ["type": "string", "enum": ["apns", "fcm"]],
                    "Whose token it is; unless given, Apple's, through SNS if the server has that."
                )
            case .pushNotificationMessage: (["type": "string"], "Text for the other members, once committed.")
            case .pushNotificationToken:
                (["type": "string", "minLength": 1], "The device's token for push notifications.")
            case .reportIdentity: (Self.boolean, "Whether the reply is to contain the identity above the account.")
            case .sharingGroupName:
                (
                    ["type": "string", "maxLength": .integer(Int64(TextLimit.sharingGroupName))],
                    "The group's name; free text."
                )
            case .sharingGroupUUID: (isGroupUUID ? Self.uuid : Self.identifier, "The sharing group.")
            case .sharingInvitationUUID: (Self.uuid, "The invitation, as people pass it on.")
            case .since: (Self.integer64, "Only what changed after this master version; with a group only.")
            case .testLockSync, .testServerSleep:
                (Self.integer32, "No effect; an aid of the predecessor's debugging builds.")
            case .undeleteServerFile: (Self.boolean, "Brings a deleted file back, as its next version.")
            case .uploadUUID: (Self.uuid, "The upload, as the reply that began it names it.")
            case .userId: (Self.integer64, "The member.")
            }
    }
}
