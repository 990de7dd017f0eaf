public import Providers

/// The folder of an account that is not a user's current one: either the account to which they are about to switch, or
/// one that they have left. Its location is kept for one request.
public final class CandidateFolder: FolderMemory {
    public let name: String?
    /// The folder, after it has been found or created.
    public private(set) var folderID: String?

    init(name: String?, folderID: String? = nil) {
        self.name = name
        self.folderID = folderID
    }

    public func replace(_ old: String?, by new: String) -> String {
        folderID = new
        return new
    }

    public func isDueForVerification() -> Bool { false }

    public func markDoubtful() { folderID = nil }
}
