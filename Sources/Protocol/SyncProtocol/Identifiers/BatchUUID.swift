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
