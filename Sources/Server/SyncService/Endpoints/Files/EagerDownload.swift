import HTTPTransport
import Providers
import Store
import Vault

/// A download of a whole object that requests the bytes while the object's description is still pending, so that the
/// phone waits for one reply of the provider instead of two.
///
/// No bytes are passed on before the description arrives, since it determines the checksum to announce.
struct EagerDownload {
    let file: FileRecord
    let objectID: String
    let storage: UserStorage
    let description: PendingDescription
    let context: RequestContext

    /// The description does not identify the contents.
    private struct NotDescribed: Error {}

    /// - Returns: `nil` if nothing has been sent to the phone, because the object was not found or its description is
    ///   missing.
    func run() throws -> EndpointReply? {
        var stream: DownloadStream?
        var obstacle: (any Error)?
        do {
            try storage.provider.download(
                objectID: objectID, from: storage.access,
                begin: { length in
                    do { stream = try self.stream() } catch { obstacle = error }
                    stream?.begin(length)
                },
                receive: { bytes in stream?.receive(bytes) ?? false })
        } catch {
            try stream?.failed(error)
            // A missing object may be found in another way, and a withheld call may be made later.
            switch error {
            case .notFound, .withheld: return nil
            default: break
            }
            obstacle = obstacle ?? error
        }
        // A failed description takes precedence.
        guard case .success = description.outcome() else { return nil }
        if obstacle is NotDescribed { return nil }
        if let obstacle { throw obstacle }
        return try stream?.end()
    }

    private func stream() throws -> DownloadStream {
        let object = try description.outcome().get()
        // If the object must be read to know its contents, that happens before any byte is passed on.
        guard let contents = PresentContents.described(by: object, as: file) else { throw NotDescribed() }
        return DownloadStream(nil, of: file, object: object, contents: contents, storage: storage, context: context)
    }
}
