import Providers
import Store
import SyncProtocol
import Synchronization

/// Limits how many requests from one user run concurrently; one for all threads of a process.
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
    ///   - maximumPerUser: how many requests from one user run concurrently.
    ///   - longestWait: the maximum wait of the other requests.
    public init(maximumPerUser: Int, longestWait: Duration = .seconds(30)) {
        self.longestWait = longestWait
        turns = Mutex(
            Turns(
                maximumRunning: maximumPerUser, maximumWaiting: Self.maximumWaiting,
                maximumWaitingOfAll: Self.maximumWaitingOfAllUsers))
    }

    /// Decides what happens to one more request: it continues, and the caller must call ``leave(_:)``; or it waits, and
    /// belongs to another thread, now or soon; or it is rejected.
    func enter(_ user: UserID, _ visit: Visit) -> TurnDecision {
        let handover = Handover(visit: visit)
        return turns.withLock { $0.enter(user, handover) }
    }

    /// Ends a turn; the caller continues with the returned visit, and ends its turn in the same way.
    func leave(_ user: UserID) -> Visit? {
        turns.withLock { $0.leave(user) }?.visit
    }
}

/// Decides which requests run at once, which wait for their turn, and which are rejected, so that no key uses more than
/// its share of the threads.
///
/// Waiting uses no thread: the thread that ends a turn continues with the next request waiting under the same key, if
/// any, so the key never uses more than `maximumRunning` threads, and no turn is lost.
struct Turns<Key: Hashable, Waiting> {
    let maximumRunning: Int
    /// For one key.
    let maximumWaiting: Int
    /// For all keys together.
    let maximumWaitingOfAll: Int
    private var lines: [Key: Line] = [:]
    private var waitingOfAll = 0

    private struct Line {
        var running = 0
        var waiting: [Waiting] = []
    }

    init(maximumRunning: Int, maximumWaiting: Int, maximumWaitingOfAll: Int) {
        self.maximumRunning = max(1, maximumRunning)
        self.maximumWaiting = maximumWaiting
        self.maximumWaitingOfAll = maximumWaitingOfAll
    }

    /// Decides what happens to one more request; `waiting` is stored only if it has to wait.
    mutating func enter(_ key: Key, _ waiting: Waiting) -> TurnDecision {
        var line = lines.removeValue(forKey: key) ?? Line()
        defer { lines[key] = line }
        if line.running < maximumRunning {
            line.running += 1
            return .goesOn
        }
        guard line.waiting.count < maximumWaiting, waitingOfAll < maximumWaitingOfAll else { return .refused }
        line.waiting.append(waiting)
        waitingOfAll += 1
        return .waits
    }

    /// Ends one turn, which passes to the returned request.
    mutating func leave(_ key: Key) -> Waiting? {
        guard var line = lines.removeValue(forKey: key) else { return nil }
        if line.waiting.isEmpty {
            line.running -= 1
            if line.running > 0 { lines[key] = line }
            return nil
        }
        waitingOfAll -= 1
        let next = line.waiting.removeFirst()
        lines[key] = line
        return next
    }

    var isEmpty: Bool { lines.isEmpty && waitingOfAll == 0 }
}

/// What happens to a request that needs a turn.
enum TurnDecision {
    case goesOn
    case waits
    case refused
}

/// Admits transfers as far as ``TransferShares`` allow; one for all threads of a process.
public final class TransferLimit: Sendable {
    private let shares: Mutex<TransferShares>

    /// - Parameters:
    ///   - threads: how many transfers the process handles concurrently.
    ///   - maximumPerUser: how many of these one user may have, uploads and downloads together.
    public init(threads: Int, maximumPerUser: Int) {
        shares = Mutex(TransferShares(threads: threads, maximumPerUser: maximumPerUser))
    }

    /// Acquires a share for one transfer, to be released with ``leave(_:_:)``.
    /// - Throws: ``ErrorCode/tooManyTransfers``, ``ErrorCode/busy``.
    func enter(_ user: UserID, _ direction: TransferShares.Direction) throws(Refusal) {
        switch shares.withLock({ $0.enter(user, direction) }) {
        case .entered: break
        case .tooManyOfUser: throw Refusal(.tooManyTransfers)
        case .tooManyInDirection: throw .directionFull
        }
    }

    func leave(_ user: UserID, _ direction: TransferShares.Direction) {
        shares.withLock { $0.leave(user, direction) }
    }
}

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

/// How many more changes this process may stage for each user before it counts them again.
///
/// A count permits a 64th of what remains until the limit. So up to 64 processes, each of which has counted at another
/// time, do not exceed the limit together, and a user whose limit is near is counted each time.
public final class StagedAllowances: Sendable {
    static let processes = 64
    /// Beyond this number of users, all are counted again.
    static let maximumUsers = 10_000

    private struct Allowance {
        var changes: Int
        var bytes: Int
    }
    private let allowances = Mutex<[UserID: Allowance]>([:])

    public init() {}

    /// Takes a change, which need not be staged in the end.
    /// - Returns: `false` if the user's changes must be counted.
    func take(_ bytes: Int, of user: UserID) -> Bool {
        allowances.withLock { allowances in
            guard var allowance = allowances[user], allowance.changes > 0, allowance.bytes >= bytes else {
                return false
            }
            allowance.changes -= 1
            allowance.bytes -= bytes
            allowances[user] = allowance
            return true
        }
    }

    /// Notes what remains until the user's limits; `nil` for no limit.
    func renew(changes: Int?, bytes: Int?, of user: UserID) {
        let allowance = Allowance(
            changes: (changes ?? .max) / Self.processes, bytes: (bytes ?? .max) / Self.processes)
        allowances.withLock { allowances in
            if allowances.count >= Self.maximumUsers { allowances = [:] }
            allowances[user] = allowance
        }
    }
}

// Quotas are checked in the transaction that adds something, after it is added: a repeated request, which adds nothing,
// is never rejected, and a rejection rolls back everything.
extension RequestContext {
    /// Counts one action of a person's account in the current hour.
    /// - Throws: ``Refusal/quotaReached(_:retryAfter:)``.
    func use(_ quota: Quota, of person: SignedInPerson, in session: inout StoreSession) throws {
        try use(quota, of: person.presented.accountType, person.profile.providerUserID, in: &session)
    }

    /// The same for an account that need not be the caller's.
    func use(
        _ quota: Quota, of accountType: AccountType, _ providerUserID: String, in session: inout StoreSession
    ) throws {
        guard let limit = services.settings.quotas[quota] else { return }
        let use = try session.use(quota, by: accountType, providerUserID, limit: limit)
        guard case .exhausted(let retryAfter) = use else { return }
        refusedQuota = quota
        throw Refusal.quotaReached(quota, retryAfter: retryAfter)
    }

    /// Checks that the user, who has just joined a group, is not in more groups than allowed.
    /// - Throws: ``Refusal/quotaReached(_:retryAfter:)``.
    func checkGroups(of userID: UserID, in session: inout StoreSession) throws {
        try check(.groups) { try session.groupCount(of: userID) }
    }

    /// Checks that the user, who has just created an invitation, does not have more of them than allowed.
    /// - Throws: ``Refusal/quotaReached(_:retryAfter:)``.
    func checkInvitations(of userID: UserID, in session: inout StoreSession) throws {
        try check(.openInvitations) { try session.openInvitationCount(by: userID, at: now) }
    }

    /// Checks that the user, who has just staged a change, does not have more staged than allowed.
    ///
    /// The user's row is not locked, so as not to block their other devices: concurrent requests may exceed the limit
    /// by one change each. Counting reads all staged changes of the user, so it is not repeated while the limit is far
    /// away (``StagedAllowances``).
    /// - Parameter bytes: the length of the change's metadata; `nil` counts in any case.
    /// - Throws: ``Refusal/quotaReached(_:retryAfter:)``.
    func checkStagedChanges(of userID: UserID, adding bytes: Int? = nil, in session: inout StoreSession) throws {
        let quotas = services.settings.quotas
        guard quotas[.stagedChanges] != nil || quotas[.stagedBytes] != nil else { return }
        if let bytes, services.stagedAllowances.take(bytes, of: userID) { return }
        let size = try session.stagedSize(of: userID)
        try check(.stagedChanges) { size.changes }
        try check(.stagedBytes) { size.bytes }
        services.stagedAllowances.renew(
            changes: quotas[.stagedChanges].map { $0 - size.changes },
            bytes: quotas[.stagedBytes].map { $0 - size.bytes }, of: userID)
    }

    /// Checks that the user, who has just begun an upload, does not have more uploads in progress than allowed staged
    /// changes, which these uploads will become.
    /// - Throws: ``Refusal/quotaReached(_:retryAfter:)``.
    func checkResumableUploads(of userID: UserID, in session: inout StoreSession) throws {
        try check(.stagedChanges) { try session.resumableUploadCount(of: userID, at: now) }
    }

    private func check(_ quota: Quota, _ count: () throws -> Int) throws {
        guard let limit = services.settings.quotas[quota], try count() > limit else { return }
        refusedQuota = quota
        throw Refusal.quotaReached(quota)
    }
}
