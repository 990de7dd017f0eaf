package import SyncEngine
package import SyncServerConnection

/// Gets a request of the engine's to the server, and the reply back.
package protocol RequestPerformer: Sendable {
    /// Performs one request, with all repetitions that are right. Contents that arrive become a file of `files` first.
    func reply(
        to request: ServerRequest, files: LibraryFiles, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> ServerReply
}
