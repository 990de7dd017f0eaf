public import Foundation

/// A transfer that ended while nobody waited for it: the process that began it is gone.
///
/// ``ServerConnection/uploadOutcome(of:)`` and ``ServerConnection/downloadOutcome(of:in:)`` tell what came of it.
public struct UnattendedTransfer: Sendable {
    /// The label of its ``HTTPExchange``.
    public var label: String?
    /// Its reply, or why there is none.
    public var result: Result<HTTPReply, TransportFailure>
    /// The file with the downloaded bytes, which is the app's from now on; nil if there are none.
    public var file: URL?

    /// Puts it together.
    public init(label: String?, result: Result<HTTPReply, TransportFailure>, file: URL? = nil) {
        self.label = label
        self.result = result
        self.file = file
    }
}

/// Who is told of transfers that outlived the process that began them.
public struct UnattendedTransfers: Sendable {
    /// Where downloaded bytes are put, each under a name of its own.
    public var folder: URL
    /// Called when a transfer has ended; one call after the other. What it returns from must be kept.
    public var ended: @Sendable (UnattendedTransfer) -> Void
    /// Called when all that ended while the app did not run has been told: call the completion handler of
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)` then. Systems without background sessions never
    /// call it.
    public var allReported: @Sendable () -> Void

    /// Collects the parts.
    public init(
        folder: URL, ended: @escaping @Sendable (UnattendedTransfer) -> Void,
        allReported: @escaping @Sendable () -> Void = {}
    ) {
        self.folder = folder
        self.ended = ended
        self.allReported = allReported
    }

    func newFile() -> URL { folder.appending(path: UUID().uuidString) }
}
