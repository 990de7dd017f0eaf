import FoundationEssentials
import SyncProtocol

/// Schemas of the contents of replies.
enum Schemas {
    static let int64: JSON = ["type": "integer", "format": "int64", "minimum": 0]
    static let int32: JSON = ["type": "integer", "format": "int32", "minimum": 0, "maximum": 2_147_483_647]
    static let bool: JSON = ["type": "boolean"]
    static let text: JSON = ["type": "string"]
    static let uuid = ParameterDescription.uuid
    static let identifier = ParameterDescription.identifier
    static let permission = ParameterDescription.permission
    static let date: JSON = [
        "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$",
        "description": "UTC, yyyy-MM-dd HH:mm:ss",
    ]
    static let storageType: JSON = [
        "type": "string", "enum": .array(CloudStorageType.allCases.map { .string($0.rawValue) }),
    ]
    static let version: JSON = ["type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"]

    /// An object with these members and no others.
    static func object(_ required: [String: JSON], optional: [String: JSON] = [:]) -> JSON {
        [
            "type": "object", "properties": .object(required.merging(optional) { $1 }),
            "required": .array(required.keys.sorted().map { .string($0) }), "additionalProperties": false,
        ]
    }

    static func array(of items: JSON) -> JSON { ["type": "array", "items": items] }

    static func reference(_ name: String) -> JSON { ["$ref": .string("#/components/schemas/\(name)")] }

    static let switchState: JSON = [
        "type": "string", "enum": .array(AccountSwitchState.allCases.map { .string($0.rawValue) }),
    ]

    /// The members of an identity, in replies to requests that ask for them.
    static let identity: [String: JSON] = [
        "userAppId": uuid, "accountEpoch": int64,
        "deviceGrant": ["type": "string", "pattern": "^[0-9a-f]{64}$"],
        "newerGrants": array(
            of: object(["grantDeviceUUID": uuid, "issuedAt": date], optional: ["usableFrom": date])),
    ]

    static let empty = object([:])
    static let stale = reference("Stale")
    static func orStale(_ success: JSON) -> JSON { ["oneOf": [success, stale]] }

    /// Schemas that several endpoints share.
    static let components: [String: JSON] = [
        "Stale": object(["masterVersionUpdate": int64]).adding([
            "description": "The client's master version is not the group's; nothing has changed."
        ]),
        // Not closed: later releases may add members.
        "Error": [
            "type": "object",
            "properties": [
                "error": ["type": "string", "description": "A sentence for developers."], "code": text,
                "requestId": text, "retryable": bool,
                "goneReason": ["type": "string", "enum": ["userRemoved", "authTokenExpiredOrRevoked"]],
                "switchId": uuid, "usableFrom": date, "undoUntil": date, "title": text,
                "status": ["type": "integer"], "detail": text,
            ], "required": ["error", "code", "requestId", "retryable"],
        ],
        "UserID": object(["userId": int64], optional: identity),
        "Member": object(["name": text, "userId": int64]),
        "SharingGroup": object(
            [
                "sharingGroupUUID": identifier, "deleted": bool, "masterVersion": int64, "permission": permission,
                "sharingGroupUsers": array(of: reference("Member")),
            ],
            optional: [
                "sharingGroupName": text, "cloudStorageType": storageType, "restoreMark": identifier,
                "restoredMasterVersion": int64,
            ]),
        "File": object(
            [
                "fileUUID": uuid, "deviceUUID": uuid, "sharingGroupUUID": identifier, "creationDate": date,
                "updateDate": date, "mimeType": text, "deleted": bool, "fileVersion": int32, "owningUserId": int64,
                "cloudStorageType": storageType,
            ],
            optional: [
                "fileGroupUUID": identifier, "appMetaDataVersion": int32, "awaitingReupload": ["const": true],
            ]),
        "StagedFile": object(
            ["fileUUID": uuid, "sharingGroupUUID": identifier, "deleted": bool],
            optional: [
                "batchUUID": uuid, "fileGroupUUID": identifier, "creationDate": date, "updateDate": date,
                "mimeType": text,
                "fileVersion": int32, "appMetaDataVersion": int32,
            ]),
        "Invitation": object([
            "sharingInvitationUUID": uuid, "permission": permission, "allowSocialAcceptance": bool,
            "numberOfAcceptors": int32, "expirationDate": date, "invitingUserId": int64,
        ]),
        "GroupMember": object(
            ["userId": int64, "name": text, "permission": permission], optional: ["owningUserId": int64]),
        "StagedAndPerhapsCommitted": object([:], optional: ["committedMasterVersion": int64]).adding([
            "description": "`committedMasterVersion` if the request completed a batch, and thereby committed it."
        ]),
    ]

    /// An error with one of these codes.
    static func error(_ codes: [ErrorCode]) -> JSON {
        [
            "allOf": [reference("Error")],
            "properties": ["code": ["enum": .array(codes.map { .string($0.rawValue) })]],
        ]
    }
}

/// A JSON value written as a Swift literal.
public enum JSON: Equatable, Sendable, Encodable {
    case string(String)
    case integer(Int64)
    case bool(Bool)
    case array([JSON])
    case object([String: JSON])

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .bool(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    /// The text, indented, members in alphabetical order, so that equal values have equal texts.
    public func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }

    /// This object with additional members.
    func adding(_ more: [String: JSON]) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.merging(more) { $1 })
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(uniqueKeysWithValues: elements))
    }
}
