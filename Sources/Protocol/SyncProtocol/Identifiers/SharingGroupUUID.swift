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
