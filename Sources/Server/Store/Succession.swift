public import SyncProtocol

/// The properties of a group's member that determine who may administer the group.
public struct GroupMember: Equatable, Sendable {
    public var userID: UserID
    public var accountType: AccountType
    public var permission: Permission
    public var joinedAt: WireDate

    public init(userID: UserID, accountType: AccountType, permission: Permission, joinedAt: WireDate) {
        self.userID = userID
        self.accountType = accountType
        self.permission = permission
        self.joinedAt = joinedAt
    }
}

/// What a group needs so that it has an admin.
///
/// A pure decision, made whenever a member has left or their permission has changed.
public enum Succession: Equatable, Sendable {
    /// The group has an admin.
    case unnecessary
    /// This member becomes admin.
    case promotion(of: UserID)
    /// No member is left: the group ends.
    case groupEnds

    /// Decides for a group with exactly these members.
    ///
    /// Members with storage come first, because others depend on them: among those the highest permission, then the
    /// longest membership. If no member has storage, the longest membership decides. Of two who joined in the same
    /// second, the older user is chosen.
    public static func among(_ members: [GroupMember]) -> Succession {
        guard !members.isEmpty else { return .groupEnds }
        if members.contains(where: { $0.permission == .admin }) { return .unnecessary }
        let owning = members.filter { $0.accountType.userType == .owning }
        let highest = owning.map(\.permission).max()
        let candidates = owning.isEmpty ? members : owning.filter { $0.permission == highest }
        let first = candidates.min { left, right in
            (left.joinedAt.secondsSince1970, left.userID.rawValue)
                < (right.joinedAt.secondsSince1970, right.userID.rawValue)
        }
        return first.map { .promotion(of: $0.userID) } ?? .groupEnds
    }
}
