/// An upload whose bytes come in several requests, perhaps to several processes, while the provider keeps those that have
/// come.
///
/// A provider that can keep the bytes of an unfinished upload goes on with ``session``, and after each part records what the
/// next request needs. If the content fails within a part, the bytes that have arrived are sent nevertheless
/// (``arrived(granularity:)``), so that the phone need not send them again.
public protocol UploadResumption: AnyObject {
    /// Content of at most this size may be sent in one request, since not much is lost if that is interrupted.
    static var smallBytes: Int { get }

    /// What was recorded last; `nil` if the provider has nothing yet.
    var session: String? { get }

    /// Up to where the provider has the bytes; the next part begins there.
    var position: Int64 { get }

    /// Whether ``position`` is all that the provider has. If not, the provider is asked: the request before this one did not
    /// end properly.
    var isPositionCertain: Bool { get }

    /// Takes in the bytes before `position`, which the provider has already; the next part begins there.
    /// - Throws: as ``UploadContent/nextPart(granularity:)``.
    func skip(to position: Int64) throws

    /// Records that the provider keeps all bytes up to the end of the part handed out last.
    /// - Parameter session: what the provider's adapter needs to go on; it is kept secret.
    /// - Throws: whatever prevents the upload from going on.
    func record(session: String) throws

    /// What has arrived of the part handed out last, whole multiples of `granularity`; it takes the place of that part.
    /// - Returns: `nil` if nothing has, or the bytes are known to be wrong.
    func arrived(granularity: Int) -> UploadPart?

    /// Records that the provider has lost the bytes: all of them must come again.
    func startOver()
}

extension UploadResumption {
    public static var smallBytes: Int { 512 * 1024 }

    /// Records what the provider keeps.
    /// - Throws: ``CloudStorageError/contentFailed(_:)``.
    func keep(_ session: String) throws(CloudStorageError) {
        do { try record(session: session) } catch { throw .contentFailed(error) }
    }
}

extension UploadContent {
    /// Sends the part handed out last; if the content fails within it, what has arrived of it, before the failure is
    /// passed on.
    /// - Parameters:
    ///   - granularity: what the provider keeps multiples of.
    ///   - send: sends the part; or, after a failure, another one in its place, when it is not known how much of the first
    ///     one has come.
    func salvaging<Outcome>(
        _ part: UploadPart, granularity: Int,
        _ send: (UploadPart, _ isRepetition: Bool) throws(CloudStorageError) -> Outcome,
        keep: (UploadPart, Outcome) throws(CloudStorageError) -> Void
    ) throws(CloudStorageError) -> Outcome {
        do throws(CloudStorageError) {
            let outcome = try send(part, false)
            try keep(part, outcome)
            return outcome
        } catch {
            guard case .contentFailed = error, let rest = resumption?.arrived(granularity: granularity) else {
                throw error
            }
            try keep(rest, try send(rest, true))
            throw error
        }
    }
}
