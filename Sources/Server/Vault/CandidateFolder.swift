public import Providers

/// The folder of an account that a user is about to switch to; nobody else knows of it yet.
public final class CandidateFolder: FolderMemory {
    public let name: String?
    /// The folder, once it is found or created.
    public private(set) var folderID: String?

    init(name: String?) { self.name = name }

    public func replace(_ old: String?, by new: String) -> String {
        folderID = new
        return new
    }

    public func isDueForVerification() -> Bool { false }

    public func markDoubtful() { folderID = nil }
}
