public import HTTPTransport
public import Logging
import Providers
import Store
public import SyncProtocol
public import Vault

/// Moves the bytes of files that wait because their owner has switched accounts, for owners who requested it
/// (docs/adr/0083-the-server-moves-contents.md).
///
/// Any number may run, on any number of hosts: each leases a move for one file at a time, so only one file of a user
/// moves at a time. An interrupted file starts over; its leftovers are deleted like those of any upload.
public struct ContentMover: Sendable {
    /// The outcome for a file, for statistics.
    public enum Outcome: String, CaseIterable, Sendable {
        case moved
        /// Somebody else was faster.
        case superseded
        /// The phones must upload it.
        case failed
        case postponed
    }

    /// How long others leave a move alone after its lease is renewed, in seconds; far longer than any step.
    private static let leaseSeconds: Int64 = 180
    private static let renewalInterval: Duration = .seconds(15)
    static let stepTime: Duration = .seconds(60)
    /// The maximum number of attempts for a file.
    private static let maximumAttempts = 60
    /// How long a move may take, in seconds; the tokens of the former account are kept no longer.
    static let lifetimeSeconds: Int64 = 30 * 86_400
    /// How long a move waits when only a person can fix the problem, in seconds.
    private static let personSeconds: Int64 = 3_600
    private static let indexPageDelaySeconds: Int64 = 15

    private let storage: StorageRegistry
    private let bytesPerSecond: Int?
    private let writesIndexPage: Bool
    private let leaseOwner: String
    private let now: @Sendable () -> WireDate
    private let makeUUID: @Sendable () throws -> String
    private let pause: @Sendable (Duration) -> Void
    private let observer: @Sendable (Outcome, Int64) -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - bytesPerSecond: the maximum rate of reading files; `nil` for no limit.
    ///   - leaseOwner: a string that no other mover uses.
    ///   - pause: blocks the calling thread.
    ///   - observer: receives the outcome for each file, and the number of bytes moved.
    public init(
        storage: StorageRegistry, bytesPerSecond: Int?, writesIndexPage: Bool = false, leaseOwner: String,
        now: @escaping @Sendable () -> WireDate, makeUUID: @escaping @Sendable () throws -> String,
        pause: @escaping @Sendable (Duration) -> Void,
        observer: @escaping @Sendable (Outcome, Int64) -> Void = { _, _ in }, logger: Logger
    ) {
        self.storage = storage
        self.bytesPerSecond = bytesPerSecond
        self.writesIndexPage = writesIndexPage
        self.leaseOwner = leaseOwner
        self.now = now
        self.makeUUID = makeUUID
        self.pause = pause
        self.observer = observer
        self.logger = logger
    }

    private var store: MetadataStore { storage.store }

    /// Performs the next step of the longest-overdue move: one file, or its end.
    /// - Parameter goesOn: called often; `false` ends the step, which will start over.
    /// - Returns: `false` if nothing is due.
    /// - Throws: ``StoreError``.
    public func run(transport: Transport, goesOn: @escaping () -> Bool = { true }) throws -> Bool {
        let leased = try store.transaction { session in
            try session.leaseMove(by: leaseOwner, until: time(in: Self.leaseSeconds), at: now())
        }
        guard let move = leased else { return false }
        var logger = logger
        logger[metadataKey: LogKey.owningUserID.rawValue] = "\(move.former.userID)"
        guard now().secondsSince1970 - move.begunAt.secondsSince1970 < Self.lifetimeSeconds else {
            try end(move, as: .failed, "took too long", logger)
            return true
        }
        let next = try store.transaction { session in
            try session.nextMovingContent(of: move.switchID, former: move.former, at: now())
        }
        if let (content, file) = next {
            try self.move(content, file, of: move, transport, logger, goesOn)
        } else {
            try endOrWait(move, logger)
        }
        return true
    }

    // MARK: One file

    private func move(
        _ content: MovingContent, _ file: FileRecord, of move: AccountMove, _ transport: Transport, _ logger: Logger,
        _ goesOn: @escaping () -> Bool
    ) throws {
        do {
            var step = try fileMove(
                content, file, of: move, transport.decorated(by: CallLog(logger)), logger, goesOn)
            let bytes = try step.run()
            observer(bytes == nil ? .superseded : .moved, bytes ?? 0)
            try postpone(move, until: now(), nil)
        } catch is MoveInterrupted {
            try postpone(move, until: now(), nil)
        } catch {
            guard let setback = MoveSetback(error) else {
                try postpone(move, until: time(in: 10), "local failure")
                throw error
            }
            try handle(setback, error, content, of: move, logger)
        }
    }

    private func fileMove(
        _ content: MovingContent, _ file: FileRecord, of move: AccountMove, _ transport: Transport, _ logger: Logger,
        _ goesOn: @escaping () -> Bool
    ) throws -> FileMove {
        guard let user = try store.withSession({ try $0.user(move.former.userID) }),
            let storageType = user.accountType.cloudStorageType, user.accountEpoch != move.former.accountEpoch
        else { throw AccountSwitched() }
        let deadline = Deadline.after(Self.stepTime)
        let source: UserStorage
        do {
            source = try storage.storage(
                of: move.former, account: .former(move), transport: transport, deadline: deadline, logger: logger)
        } catch {
            throw MoveSourceFailure(cause: error)
        }
        var renewed = ContinuousClock.now
        return FileMove(
            move: move, content: content, former: file, source: source,
            owner: OwningUser(userID: user.userID, storageType: storageType),
            destination: try storage.storage(of: user, transport: transport, deadline: deadline, logger: logger),
            intents: IntentKeeper(store: store, now: now, makeUUID: makeUUID, logger: logger),
            bytesPerSecond: bytesPerSecond, pause: pause,
            goesOn: {
                guard goesOn() else { throw MoveInterrupted() }
                guard renewed.duration(to: .now) > Self.renewalInterval else { return }
                guard try renew(move) else { throw MoveInterrupted() }
                renewed = .now
            })
    }

    private func renew(_ move: AccountMove) throws -> Bool {
        try store.transaction { session in
            try session.renewMove(move.switchID, by: leaseOwner, until: time(in: Self.leaseSeconds))
        }
    }

    // MARK: Setbacks

    private func handle(
        _ setback: MoveSetback, _ error: any Error, _ content: MovingContent, of move: AccountMove, _ logger: Logger
    ) throws {
        switch setback {
        case .fileFails(let reason): try giveUp(content, of: move, reason, logger)
        case .moveFails(let reason): try end(move, as: .failed, reason, logger)
        case .later(let reason, let delay, let concernsFile, let needsPerson):
            guard !concernsFile || content.attempts + 1 < Self.maximumAttempts else {
                return try giveUp(content, of: move, reason, logger)
            }
            // Twice as long as the last time, or as long as the provider asks. Times are whole seconds, rounded down.
            var seconds = min(3_600, Int64(2) << Int64(min(move.attempts, 11)))
            if needsPerson { seconds = Self.personSeconds }
            if let delay { seconds = max(seconds, delay.components.seconds + 2) }
            logger.log(
                level: Logger.Level(ofFailure: error), "File move postponed",
                metadata: .keyed([.reason: "\(reason)", .seconds: "\(seconds)"]))
            observer(.postponed, 0)
            try store.transaction { session in
                if concernsFile { try session.postpone(content, of: move.switchID, until: time(in: seconds)) }
                try session.postponeMove(move.switchID, by: leaseOwner, until: time(in: seconds), error: reason)
            }
        }
    }

    private func giveUp(
        _ content: MovingContent, of move: AccountMove, _ reason: String, _ logger: Logger
    ) throws {
        logger.warning(
            "Could not move a file: it waits for a device", metadata: .keyed([.reason: "\(reason)"]))
        observer(.failed, 0)
        try store.transaction { session in
            try session.giveUp(content, of: move.switchID, reason)
            try session.postponeMove(move.switchID, by: leaseOwner, until: now())
        }
    }

    private func postpone(_ move: AccountMove, until time: WireDate, _ error: String?) throws {
        try store.transaction { session in
            try session.postponeMove(move.switchID, by: leaseOwner, until: time, error: error)
        }
    }

    // MARK: The end

    /// Ends a move that has no files left, or postpones it until its next file is due. Finishes a switch once no file
    /// waits.
    private func endOrWait(_ move: AccountMove, _ logger: Logger) throws {
        if let time = try store.withSession({ try $0.nextMovingTime(of: move.switchID) }) {
            return try postpone(move, until: max(time, now()), move.lastError)
        }
        let userID = move.former.userID
        let finished = try store.transaction { session -> AccountSwitchID? in
            guard try session.awaitingCount(of: userID) == 0, let open = try session.switchInProgress(of: userID) else {
                return nil
            }
            _ = try session.finishSwitch(open.id, of: userID, .keepGone, movesEndAs: .done, at: now())
            if writesIndexPage, let user = try session.user(userID), let type = user.accountType.cloudStorageType {
                try session.scheduleIndexPage(
                    of: OwningUser(userID: userID, storageType: type),
                    availableAt: time(in: Self.indexPageDelaySeconds), at: now())
            }
            return open.id
        }
        if finished != nil { logger.notice("Account switch finished: all contents are available") }
        try end(move, as: .done, nil, logger)
    }

    private func end(
        _ move: AccountMove, as state: AccountMove.State, _ reason: String?, _ logger: Logger
    ) throws {
        try store.transaction { session in
            try session.endMove(move.switchID, as: state, error: reason, at: now())
        }
        logger.notice(
            "Content move ended", metadata: .keyed([.reason: "\(reason ?? state.rawValue)"]))
    }

    private func time(in seconds: Int64) -> WireDate {
        WireDate(secondsSince1970: now().secondsSince1970 + seconds)
    }
}

/// The consequence of a failure for the move of a file. Reasons are short and never contain text from a provider.
enum MoveSetback: Equatable {
    /// The phones must upload the file: its bytes are missing or different.
    case fileFails(reason: String)
    /// The former account can no longer be read.
    case moveFails(reason: String)
    /// The move may be retried.
    /// - Parameters:
    ///   - concernsFile: whether the cause may be this particular file.
    ///   - needsPerson: whether a person must act first.
    case later(reason: String, after: Duration?, concernsFile: Bool = false, needsPerson: Bool = false)

    /// `nil` for a failure of the server itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as MoveSourceFailure: self.init(ofFormer: failure.cause)
        case Refusal(.contentMismatch): self = .fileFails(reason: "other bytes")
        case let error as CloudStorageError: self.init(ofPresent: error)
        // Somebody was faster, or the object may be deleted: the next attempt looks up the state again.
        case Refusal(.uploadConflict), Refusal(.ownerRemoved), is AccountSwitched:
            self = .later(reason: "conflict", after: nil, concernsFile: true)
        default: return nil
        }
    }

    private init(ofFormer error: CloudStorageError) {
        self =
            switch error {
            case .authorizationRevoked, .serverNotAllowed: .moveFails(reason: "former account: \(error)")
            case .notFound: .fileFails(reason: "not found")
            case .contentMismatch: .fileFails(reason: "other bytes")
            case .rejected: .fileFails(reason: "rejected by the former account")
            case .termsNotAccepted: .later(reason: "former account: \(error)", after: nil, needsPerson: true)
            default: Self.passing(error, "former account: \(error)")
            }
    }

    private init(ofPresent error: CloudStorageError) {
        self =
            switch error {
            case .rejected: .fileFails(reason: "rejected by the present account")
            case .authorizationRevoked, .quotaExceeded, .serverNotAllowed, .termsNotAccepted:
                .later(reason: "present account: \(error)", after: nil, needsPerson: true)
            default: Self.passing(error, "present account: \(error)")
            }
    }

    /// A temporary failure.
    private static func passing(_ error: CloudStorageError, _ reason: String) -> MoveSetback {
        switch error {
        case .unavailable, .timedOut, .contentMismatch, .notFound:
            .later(reason: reason, after: error.retryAfter, concernsFile: true)
        case .misconfigured: .later(reason: reason, after: nil, needsPerson: true)
        default: .later(reason: reason, after: error.retryAfter)
        }
    }
}
