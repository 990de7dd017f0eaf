import SyncProtocol

/// The form and the meaning of a query parameter. There is no default: a new parameter must be described here.
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
                (
                    Self.boolean,
                    "Whether an account that an identity has switched away from may start again as a new user."
                )
            case .actualDeletion: (["type": "string"], "No effect; an aid of the predecessor's debugging builds.")
            case .allowSocialAcceptance:
                (Self.boolean, "Whether accounts without storage may redeem the invitation; 1 by default.")
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
                    ], "The number of changes in the batch. Only together with `batchUUID`."
                )
            case .batchUUID:
                (Self.uuid, "Identifies a batch: when its last change arrives, all of them are committed at once.")
            case .checkSum:
                (
                    [
                        "type": "string", "minLength": 1, "maxLength": .integer(Int64(CheckSum.maximumDigits)),
                        "pattern": "^[0-9A-Fa-f]+$",
                    ], "Hexadecimal, with the algorithm of the owner's storage: MD5, Dropbox's content hash, or SHA-1."
                )
            case .contentSHA256:
                (
                    ["type": "string", "minLength": 64, "maxLength": 64, "pattern": "^[0-9A-Fa-f]+$"],
                    "SHA-256 of the body."
                )
            case .cursor:
                (
                    ["type": "string", "minLength": 1],
                    "The position at which the list continues: `nextCursor` of the previous page."
                )
            case .expectedEpoch: (Self.integer64, "The identity's epoch as the client knows it.")
            case .missing:
                (
                    ["type": "string", "enum": ["keepGone", "markDeleted"]],
                    "What happens to files that still wait for their contents; keepGone by default."
                )
            case .moveContents:
                (
                    Self.boolean,
                    "Whether the server moves the contents itself, if it can still read the former account."
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
                    "Folder at the root of the person's drive; required for Google accounts, ignored for others."
                )
            case .commitId:
                (
                    Self.uuid,
                    "Identifies the commit; a repeated request with the same identifier gets the same reply."
                )
            case .direct:
                (
                    Self.boolean,
                    "Whether the client itself transfers the contents to or from the owner's storage, if possible."
                )
            case .fileGroupUUID: (Self.identifier, "Groups files; only with version 0.")
            case .fileUUID: (Self.uuid, "The file.")
            case .fileUUIDs: (["type": "string", "minLength": 36], "Files, as comma-separated UUIDs.")
            case .fileVersion: (Self.integer32, "The version of the contents.")
            case .grantDeviceUUID:
                (Self.uuid, "The device whose grants are revoked; by default all except the calling one.")
            case .masterVersion: (Self.integer64, "The group's master version as the client knows it.")
            case .mimeType:
                (
                    ["type": "string", "minLength": 1, "maxLength": .integer(Int64(MIMEType.maximumCharacters))],
                    "The type of the contents; one of the types that the server knows."
                )
            case .numberOfAcceptors:
                (
                    [
                        "type": "integer",
                        "minimum": .integer(
                            Int64(CreateSharingInvitationRequest.allowedNumberOfAcceptors.lowerBound)),
                        "maximum": .integer(
                            Int64(CreateSharingInvitationRequest.allowedNumberOfAcceptors.upperBound)),
                    ], "The number of people who may redeem the invitation; 1 by default."
                )
            case .omitLongAppMetaData:
                (
                    Self.boolean,
                    "Whether to leave metadata longer than \(HeaderMetaData.maximumBytes) bytes to DownloadAppMetaData."
                )
            case .permission: (Self.permission, "The person's permission.")
            case .pushNotificationEnvironment:
                (
                    ["type": "string", "enum": ["production", "sandbox"]],
                    "Which of Apple's two environments the token is from; by default, the server determines it."
                )
            case .pushNotificationKind:
                (
                    ["type": "string", "enum": ["apns", "fcm"]],
                    "The service of the token; by default Apple's, through SNS if the server uses it."
                )
            case .pushNotificationMessage: (["type": "string"], "A text for the other members, sent after the commit.")
            case .pushNotificationToken:
                (["type": "string", "minLength": 1], "The device's token for push notifications.")
            case .reportIdentity: (Self.boolean, "Whether the reply contains the identity above the account.")
            case .sharingGroupName:
                (
                    ["type": "string", "maxLength": .integer(Int64(TextLimit.sharingGroupName))],
                    "The group's name; free text."
                )
            case .sharingGroupUUID: (isGroupUUID ? Self.uuid : Self.identifier, "The sharing group.")
            case .sharingInvitationUUID: (Self.uuid, "The invitation's code, which people share.")
            case .since: (Self.integer64, "Only changes after this master version; only with a group.")
            case .testLockSync, .testServerSleep:
                (Self.integer32, "No effect; an aid of the predecessor's debugging builds.")
            case .undeleteServerFile: (Self.boolean, "Restores a deleted file, as its next version.")
            case .uploadUUID: (Self.uuid, "The upload, from the reply that began it.")
            case .userId: (Self.integer64, "The member.")
            }
    }
}
