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
