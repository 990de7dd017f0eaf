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
