public import Foundation

/// A transfer that ended while no caller waited for it: the process that started it has ended.
///
/// ``ServerConnection/uploadOutcome(of:)`` and ``ServerConnection/downloadOutcome(of:in:)`` return its outcome.
public struct UnattendedTransfer: Sendable {
    /// The label of the transfer's ``HTTPExchange``.
    public var label: String?
    /// Its reply, or the failure.
    public var result: Result<HTTPReply, TransportFailure>
    /// The file with the downloaded bytes, which the app owns from now on; nil if there are none.
    public var file: URL?

    /// Creates a transfer.
    public init(label: String?, result: Result<HTTPReply, TransportFailure>, file: URL? = nil) {
        self.label = label
        self.result = result
        self.file = file
    }
}

/// Receives transfers that outlived the process that started them.
public struct UnattendedTransfers: Sendable {
    /// The folder for downloaded files, each with a unique name.
    public var folder: URL
    /// Called when a transfer has ended, one call at a time. The app must have stored the transfer when it returns.
    public var ended: @Sendable (UnattendedTransfer) -> Void
    /// Called when all transfers that ended while the app was not running have been reported: then call the completion
    /// handler of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. Never called on systems
    /// without background sessions.
    public var allReported: @Sendable () -> Void

    /// Creates the handlers.
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
