/// How a provider accepts the content of one upload: in one request, or in a session of several, whose last one creates
/// the object. ``SessionUpload`` calls the functions in the right order.
///
/// No requirement has a default: each is a decision about the provider.
protocol UploadSession {
    /// The provider's description of an object.
    associatedtype Object

    var content: any UploadContent { get }

    /// How the content is divided at this moment.
    var rules: PartRules { get }

    /// Stores the whole content in one request.
    mutating func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> Object

    /// Begins a session.
    /// - Returns: `nil` once it has begun. If an object prevents it, the function that decides what that object means
    ///   once the content is verified.
    mutating func begin() throws(CloudStorageError) -> (() throws(CloudStorageError) -> Object)?

    /// What another request needs to continue the session; secret.
    var record: String { get throws(CloudStorageError) }

    /// Continues the session of an earlier request.
    /// - Returns: `false` if ``record`` denotes no session with bytes, so that a new one begins.
    mutating func open(_ record: String) throws(CloudStorageError) -> Bool

    /// The provider's progress with a session that an earlier request may have advanced without recording it.
    /// - Parameter recorded: the recorded position.
    /// - Throws: ``lost()`` if neither the session nor its object exists.
    mutating func progress(after recorded: Int64) throws(CloudStorageError) -> SessionProgress<Object>

    /// Sends the next part, if necessary repeatedly.
    mutating func send(_ part: UploadPart) throws(CloudStorageError) -> SessionOutcome<Object>

    /// Makes the provider keep the bytes that had arrived when the content failed. An unknown number of them may have
    /// been sent.
    /// - Parameter rest: these bytes, as a replacement for the most recent part; `nil` if none can be kept.
    /// - Returns: whether ``record`` changed.
    mutating func keep(_ rest: UploadPart?) throws(CloudStorageError) -> Bool

    /// The object with our content that the session created before it was lost; `nil` if it created none.
    func created() throws(CloudStorageError) -> Object?

    /// Notes that the provider has lost the bytes (``UploadContent/lost(_:)``).
    /// - Returns: the error to report.
    func lost() -> CloudStorageError

    /// Ends the session after `error`, unless a later request may continue it.
    /// - Returns: the error to report.
    func failed(_ error: CloudStorageError) -> CloudStorageError
}

/// How a provider divides content.
struct PartRules {
    /// The size of every part except the last is a multiple of this, or ``longest``.
    var granularity: Int
    var longest: Int
    /// Content of at most this size is sent in one request; in an upload in pieces,
    /// ``UploadResumption/smallBytes`` applies.
    var whole: Int
    /// Whether a new session replaces a lost one while the first part is still in memory.
    var restarts: Bool
    /// Whether bytes are kept that arrived for a part which was never handed out.
    var collects: Bool
}

/// The outcome of one part.
enum SessionOutcome<Object> {
    /// The provider has the part, which is not the last one, and waits for the next.
    case taken
    /// The part waits in memory until more has arrived; there is nothing to record.
    case collected
    /// The provider has the whole content.
    case finished(Object)
    /// An object prevents the creation; the function decides what it means once the content is verified.
    case exists(() throws(CloudStorageError) -> Object)
    /// The provider no longer knows the session.
    case lost
}

/// A provider's progress with a session.
enum SessionProgress<Object> {
    /// It has all bytes before this position.
    case at(Int64)
    /// The object exists already; the function decides what it means once the content is verified.
    case exists(() throws(CloudStorageError) -> Object)
}

/// The course of an upload, the same for every provider.
///
/// Small content is sent in one request. Otherwise a session begins, or that of an earlier request continues after the
/// bytes that the provider already has. If the content fails within a part, the bytes that have arrived are kept.
struct SessionUpload<Session: UploadSession> {
    private var session: Session
    private let content: any UploadContent

    init(_ session: Session) {
        self.session = session
        content = session.content
    }

    consuming func run() throws(CloudStorageError) -> Session.Object {
        do throws(CloudStorageError) {
            if let resumption = content.resumption, let record = resumption.session, try session.open(record) {
                return try resume(resumption)
            }
            let first = try nextPart()
            let limit = content.resumption.map { type(of: $0).smallBytes } ?? session.rules.whole
            if first.isLast, first.count <= limit { return try session.sendWhole(first) }
            if let existing = try session.begin() { return try verifying(from: first, existing) }
            return try transfer(from: first, mayRestart: session.rules.restarts)
        } catch {
            throw session.failed(error)
        }
    }

    private mutating func resume(_ resumption: any UploadResumption) throws(CloudStorageError) -> Session.Object {
        if !resumption.isPositionCertain {
            switch try session.progress(after: resumption.position) {
            case .exists(let existing): return try verifying(from: nextPart(), existing)
            case .at(let position):
                guard position >= resumption.position else { throw session.lost() }
                do { try resumption.skip(to: position) } catch { throw .contentFailed(error) }
            }
        }
        return try transfer(from: nextPart(), mayRestart: false)
    }

    /// Sends everything from `first` onwards.
    private mutating func transfer(
        from first: UploadPart, mayRestart: Bool
    ) throws(CloudStorageError) -> Session.Object {
        var part = first
        var mayRestart = mayRestart
        while true {
            switch try send(part) {
            case .finished(let object): return object
            case .exists(let existing): return try verifying(from: part, existing)
            case .taken, .collected:
                guard !part.isLast else { throw .unavailable(detail: "the provider expects more than all bytes") }
                part = try nextPart()
            case .lost:
                if part.isLast {
                    // The hash is certain only after the end of the content.
                    try part.arrive()
                    if let object = try session.created() { return object }
                }
                // The bytes of earlier parts are gone.
                guard part.offset == 0, mayRestart, try session.begin() == nil else { throw session.lost() }
                mayRestart = false
            }
        }
    }

    private mutating func send(_ part: UploadPart) throws(CloudStorageError) -> SessionOutcome<Session.Object> {
        do throws(CloudStorageError) {
            let outcome = try session.send(part)
            if case .taken = outcome { try content.resumption?.keep(session.record) }
            return outcome
        } catch {
            try keepArrived(after: error)
            throw error
        }
    }

    private mutating func nextPart() throws(CloudStorageError) -> UploadPart {
        let rules = session.rules
        do throws(CloudStorageError) {
            return try content.part(granularity: rules.granularity, atMost: rules.longest)
        } catch {
            if rules.collects { try keepArrived(after: error) }
            throw error
        }
    }

    private mutating func keepArrived(after error: CloudStorageError) throws(CloudStorageError) {
        guard case .contentFailed = error, let resumption = content.resumption else { return }
        if try session.keep(resumption.arrived(granularity: session.rules.granularity)) {
            try resumption.keep(session.record)
        }
    }

    /// The result of `existing`, after the rest of the content has arrived and thereby been verified.
    private func verifying(
        from part: UploadPart, _ existing: () throws(CloudStorageError) -> Session.Object
    ) throws(CloudStorageError) -> Session.Object {
        try content.verifyRest(from: part, granularity: session.rules.granularity)
        return try existing()
    }
}
