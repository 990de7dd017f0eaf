/// What a parameter's value must look like, in words for the person who reads an error.
public enum ExpectedForm: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// A hyphenated UUID.
    case uuid
    /// Hyphenated UUIDs separated by commas.
    case uuids
    /// 1 to 36 characters of text.
    case identifier
    /// Decimal digits, at most 2,147,483,647.
    case integer32
    /// Decimal digits, at most 9,223,372,036,854,775,807.
    case integer64
    /// `1`, `0`, `true` or `false`.
    case boolean
    /// `read`, `write` or `admin`.
    case permission
    /// `apns` or `fcm`.
    case pushNotificationKind
    /// `production` or `sandbox`.
    case pushNotificationEnvironment
    /// 1 to 100 characters of text.
    case mimeType
    /// 1 to 128 hexadecimal digits.
    case hexadecimal
    /// 20 bytes in base64.
    case storageHash
    /// Any text.
    case text
    /// A JSON object with `version` and `contents`.
    case appMetaData

    /// Completes the sentence "must be …".
    public var description: String {
        switch self {
        case .uuid: "a UUID of 36 characters"
        case .uuids: "UUIDs of 36 characters, separated by commas"
        case .identifier: "1 to 36 characters of text"
        case .integer32: "decimal digits, at most 2147483647"
        case .integer64: "decimal digits, at most 9223372036854775807"
        case .boolean: "1, 0, true or false"
        case .permission: "read, write or admin"
        case .pushNotificationKind: "apns or fcm"
        case .pushNotificationEnvironment: "production or sandbox"
        case .mimeType: "a MIME type of 1 to 100 characters"
        case .hexadecimal: "1 to 128 hexadecimal digits"
        case .storageHash: "20 bytes in base64"
        case .text: "text"
        case .appMetaData: "a JSON object with an integer version and a string contents"
        }
    }
}
