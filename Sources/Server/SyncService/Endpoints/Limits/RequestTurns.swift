import SyncProtocol
import Synchronization

/// Limits how many requests of one user run concurrently; one for all threads of a process.
public final class RequestTurns: Sendable {
    /// The maximum number of waiting requests: each keeps its connection and some memory.
    private static let maximumWaiting = 256
    private static let maximumWaitingOfAllUsers = 1_024
    /// A request that has waited longer is rejected, since phones do not wait forever.
    let longestWait: Duration

    /// `@unchecked Sendable`: only the thread that has the visit's turn uses it; a thread that queues a visit no longer
    /// touches it.
    private struct Handover: @unchecked Sendable {
        let visit: Visit
    }

    private let turns: Mutex<Turns<UserID, Handover>>

    /// - Parameters:
    ///   - maximumPerUser: how many requests of one user run concurrently.
    ///   - longestWait: the maximum wait of the other requests.
    public init(maximumPerUser: Int, longestWait: Duration = .seconds(30)) {
        self.longestWait = longestWait
        turns = Mutex(
            Turns(
                maximumRunning: maximumPerUser, maximumWaiting: Self.maximumWaiting,
                maximumWaitingOfAll: Self.maximumWaitingOfAllUsers))
    }

    /// Decides about one more request: it continues, and the caller must call ``leave(_:)``; or it waits, and belongs
    /// to another thread, now or soon; or it is rejected.
    func enter(_ user: UserID, _ visit: Visit) -> TurnDecision {
        let handover = Handover(visit: visit)
        return turns.withLock { $0.enter(user, handover) }
    }

    /// Ends a turn; the caller continues with the returned visit, and ends its turn in the same way.
    func leave(_ user: UserID) -> Visit? {
        turns.withLock { $0.leave(user) }?.visit
    }
}
