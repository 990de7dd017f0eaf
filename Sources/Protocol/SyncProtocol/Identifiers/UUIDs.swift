/// Names one file within its sharing group, through all its versions; made by the client.
///
/// Always a hyphenated UUID of 36 characters; the letter case is kept, and ignored in comparisons.
public struct FileUUID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.uuid

    /// The UUID exactly as it came.
    public let rawValue: String

    /// Takes a UUID over as it is; nil if the text is not a hyphenated UUID.
    public init?(_ text: String) {
        guard UUIDText.isWellFormed(text) else { return nil }
        rawValue = text
    }
}

/// Ties together files that belong together, such as a picture and its discussion; made by the client.
///
/// Text of 1 to 36 characters, normally a UUID. It need not be one: whatever else arrives simply names nothing, and is
/// answered like an unknown identifier. Where an endpoint insists on a UUID, it asks ``isWellFormedUUID``.
/// The letter case is kept, and ignored in comparisons.
public struct FileGroupUUID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.identifier

    /// Longest accepted text, in Unicode scalars, which is how the database counts.
    public static let maximumCharacters = 36

    /// The text exactly as it came.
    public let rawValue: String

    /// Takes the text over as it is; nil if it is empty or longer than 36 characters.
    public init?(_ text: String) {
        guard (1...Self.maximumCharacters).contains(text.unicodeScalars.count) else { return nil }
        rawValue = text
    }

    /// Whether the text is a hyphenated UUID.
    public var isWellFormedUUID: Bool { UUIDText.isWellFormed(rawValue) }
}

/// Names a sharing group: a set of users and a set of files; made by the client.
///
/// Text of 1 to 36 characters, normally a UUID. It need not be one: whatever else arrives simply names nothing, and is
/// answered like an unknown identifier. Where an endpoint insists on a UUID, it asks ``isWellFormedUUID``.
/// The letter case is kept, and ignored in comparisons.
public struct SharingGroupUUID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.identifier

    /// Longest accepted text, in Unicode scalars, which is how the database counts.
    public static let maximumCharacters = 36

    /// The text exactly as it came.
    public let rawValue: String

    /// Takes the text over as it is; nil if it is empty or longer than 36 characters.
    public init?(_ text: String) {
        guard (1...Self.maximumCharacters).contains(text.unicodeScalars.count) else { return nil }
        rawValue = text
    }

    /// Whether the text is a hyphenated UUID.
    public var isWellFormedUUID: Bool { UUIDText.isWellFormed(rawValue) }
}

/// The code of an invitation to a sharing group, which people pass on; made by the server at random.
///
/// Always a hyphenated UUID of 36 characters; the letter case is kept, and ignored in comparisons.
public struct SharingInvitationUUID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.uuid

    /// The UUID exactly as it came.
    public let rawValue: String

    /// Takes a UUID over as it is; nil if the text is not a hyphenated UUID.
    public init?(_ text: String) {
        guard UUIDText.isWellFormed(text) else { return nil }
        rawValue = text
    }
}

/// Names one installation of an app; made by the client, and kept by it when the app is installed anew.
///
/// Always a hyphenated UUID of 36 characters; the letter case is kept, and ignored in comparisons.
public struct DeviceUUID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.uuid

    /// The UUID exactly as it came.
    public let rawValue: String

    /// Takes a UUID over as it is; nil if the text is not a hyphenated UUID.
    public init?(_ text: String) {
        guard UUIDText.isWellFormed(text) else { return nil }
        rawValue = text
    }
}

/// Names one commit, so that a repeated request is recognised whatever has happened in between; made by the client.
///
/// Always a hyphenated UUID of 36 characters; the letter case is kept, and ignored in comparisons.
public struct CommitID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.uuid

    /// The UUID exactly as it came.
    public let rawValue: String

    /// Takes a UUID over as it is; nil if the text is not a hyphenated UUID.
    public init?(_ text: String) {
        guard UUIDText.isWellFormed(text) else { return nil }
        rawValue = text
    }
}

/// Names a batch of changes that commits itself when its last member has arrived; made by the client.
///
/// Always a hyphenated UUID of 36 characters; the letter case is kept, and ignored in comparisons.
public struct BatchUUID: CasePreservingIdentifier {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.uuid

    /// The UUID exactly as it came.
    public let rawValue: String

    /// Takes a UUID over as it is; nil if the text is not a hyphenated UUID.
    public init?(_ text: String) {
        guard UUIDText.isWellFormed(text) else { return nil }
        rawValue = text
    }
}

extension BatchUUID {
    /// Under which id the batch's commit is remembered.
    public var commitID: CommitID {
        guard let commitID = CommitID(rawValue) else { preconditionFailure("both are UUIDs") }
        return commitID
    }
}

/// The textual form of a UUID: 8-4-4-4-12 hexadecimal digits with hyphens (RFC 9562, section 4).
package enum UUIDText {
    /// Whether `text` is a hyphenated UUID of 36 characters, in either letter case, of any version.
    package static func isWellFormed(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        var position = 0
        for byte in text.utf8 {
            switch position {
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return false }
            default:
                guard HexadecimalDigit.value(of: byte) != nil else { return false }
            }
            position += 1
        }
        return true
    }
}
