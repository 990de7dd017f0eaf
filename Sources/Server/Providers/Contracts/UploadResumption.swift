/// An upload whose bytes come in several requests, perhaps to several processes, while the provider keeps the bytes
/// received so far.
///
/// A provider that can keep the bytes of an unfinished upload continues with ``session``, and after each part records
/// what the next request needs. If the content fails within a part, the bytes that have arrived are sent nevertheless
/// (``arrived(granularity:)``), so that the phone need not send them again.
public protocol UploadResumption: AnyObject {
    /// Content of at most this size may be sent in one request, since an interruption loses little.
    static var smallBytes: Int { get }

    /// The latest record; `nil` if the provider has nothing yet.
    var session: String? { get }

    /// The number of bytes that the provider has; the next part begins at this position.
    var position: Int64 { get }

    /// Whether ``position`` is certain. If not, the provider must be asked, because the previous request did not end
    /// properly.
    var isPositionCertain: Bool { get }

    /// Consumes the bytes before `position`, which the provider already has; the next part begins there.
    /// - Throws: like ``UploadContent/nextPart(granularity:)``.
    func skip(to position: Int64) throws

    /// Records that the provider keeps all bytes up to the end of the most recent part.
    /// - Parameter session: what the provider's adapter needs to continue; secret.
    /// - Throws: the error that prevents the upload from continuing.
    func record(session: String) throws

    /// The arrived bytes of the most recent part, in whole multiples of `granularity`; they replace that part.
    /// - Returns: `nil` if none have arrived, or if they are known to be wrong.
    func arrived(granularity: Int) -> UploadPart?

    /// Records that the provider has lost the bytes; the phone must send all of them again.
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
    /// Sends the most recent part. If the content fails within it, sends the bytes that have arrived before passing on
    /// the failure.
    /// - Parameters:
    ///   - granularity: the provider keeps multiples of this.
    ///   - send: sends the part or, after a failure, a replacement for it, when it is unknown how much of the first one
    ///     was received.
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
