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
