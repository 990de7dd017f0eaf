package import SyncEngine
package import SyncServerConnection

/// Sends the engine's requests to the server, and returns the replies.
package protocol RequestPerformer: Sendable {
    /// Performs one request, with all appropriate retries. Downloaded contents are first stored as a file in `files`.
    func reply(
        to request: ServerRequest, files: LibraryFiles, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> ServerReply
}
