/// What a member of a sharing group may do; each permission includes those below it.
public enum Permission: String, Sendable, Hashable, Comparable, Codable, CaseIterable, QueryValue {
    /// May list and download.
    case read
    /// May also upload, delete and commit.
    case write
    /// May also invite, and rename or remove the group.
    case admin

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.permission

    /// `read` < `write` < `admin`.
    public static func < (left: Self, right: Self) -> Bool {
        left.level < right.level
    }

    /// Whether somebody with this permission may do what takes `needed`.
    public func allows(_ needed: Permission) -> Bool {
        self >= needed
    }

    private var level: Int {
        switch self {
        case .read: 0
        case .write: 1
        case .admin: 2
        }
    }
}
