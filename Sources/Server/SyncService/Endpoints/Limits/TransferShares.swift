import SyncProtocol

/// How the transfer threads of a process are shared among users and directions.
///
/// No direction may use more than three quarters of them, so that downloads and uploads cannot starve each other, and
/// no user more than `maximumPerUser`.
struct TransferShares: Equatable {
    enum Direction: Hashable {
        case upload
        case download
    }

    enum Decision: Equatable {
        case entered
        /// The user has as many transfers as allowed.
        case tooManyOfUser
        /// This direction has as many transfers as the process allows.
        case tooManyInDirection
    }

    let maximumPerDirection: Int
    let maximumPerUser: Int
    private var byDirection: [Direction: Int] = [:]
    private var byUser: [UserID: Int] = [:]

    /// - Parameter threads: how many transfers the process handles concurrently.
    init(threads: Int, maximumPerUser: Int) {
        maximumPerDirection = max(1, threads * 3 / 4)
        self.maximumPerUser = maximumPerUser
    }

    /// Users who have transfers in progress.
    var usersKnown: Int { byUser.count }

    mutating func enter(_ user: UserID, _ direction: Direction) -> Decision {
        guard byUser[user, default: 0] < maximumPerUser else { return .tooManyOfUser }
        guard byDirection[direction, default: 0] < maximumPerDirection else { return .tooManyInDirection }
        byUser[user, default: 0] += 1
        byDirection[direction, default: 0] += 1
        return .entered
    }

    /// Ends a transfer that ``enter(_:_:)`` has admitted.
    mutating func leave(_ user: UserID, _ direction: Direction) {
        byDirection[direction, default: 0] -= 1
        let left = byUser[user, default: 0] - 1
        byUser[user] = left > 0 ? left : nil
    }
}
