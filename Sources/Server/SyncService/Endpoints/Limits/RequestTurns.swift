import SyncProtocol
import Synchronization

/// Bounds how many requests of one user run at once; one for all threads of a process.
public final class RequestTurns: Sendable {
    /// Requests that may wait: each keeps its connection and some memory.
    private static let maximumWaiting = 256
    private static let maximumWaitingOfAllUsers = 1_024
    /// Whoever has waited longer is told so, as phones do not wait for ever.
    let longestWait: Duration

    /// `@unchecked Sendable`: of a visit, only the thread that has its turn makes use; whoever lets it wait lets go of it.
    private struct Handover: @unchecked Sendable {
        let visit: Visit
    }

    private let turns: Mutex<Turns<UserID, Handover>>

    /// - Parameters:
    ///   - maximumPerUser: how many requests of one user run at once.
    ///   - longestWait: how long one of the others waits at most.
    public init(maximumPerUser: Int, longestWait: Duration = .seconds(30)) {
        self.longestWait = longestWait
        turns = Mutex(
            Turns(
                maximumRunning: maximumPerUser, maximumWaiting: Self.maximumWaiting,
                maximumWaitingOfAll: Self.maximumWaitingOfAllUsers))
    }

    enum Decision {
        /// ``leave(_:)`` must follow.
        case goesOn
        /// The visit belongs to another thread now, or soon.
        case waits
        case refused
    }

    func enter(_ user: UserID, _ visit: Visit) -> Decision {
        let handover = Handover(visit: visit)
        return switch turns.withLock({ $0.enter(user, handover) }) {
        case .goesOn: .goesOn
        case .waits: .waits
        case .refused: .refused
        }
    }

    /// Ends a turn; the caller goes on with the visit that is returned, and ends its turn in the same way.
    func leave(_ user: UserID) -> Visit? {
        turns.withLock { $0.leave(user) }?.visit
    }
}
