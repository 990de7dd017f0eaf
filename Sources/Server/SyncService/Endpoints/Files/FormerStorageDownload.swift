import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// A download of a file that waits for its bytes, from its owner's former account, while the server is moving contents
/// out of that account.
///
/// Only bytes proved to be the version's are sent, with the checksum and the storage type of that account; nothing is
/// stored except a renewed token.
struct FormerStorageDownload {
    let file: FileRecord
    let groupID: SharingGroupID
    let conditions: DownloadConditions
    let context: RequestContext

    /// - Returns: `nil` if the bytes are not available there; for the phone, the file continues to wait.
    /// - Throws: errors that end a reply that has begun, ``ClientGone``, ``StoreError``.
    func run() throws -> EndpointReply? {
        guard let (move, former) = try context.store.withSession({ try $0.movingContent(of: file, in: groupID) }),
            let objectID = former.objectID
        else { return nil }
        do {
            let storage = try context.services.storage.storage(
                ofFormerAccountIn: move, transport: context.transport, deadline: context.deadline,
                logger: context.logger)
            let object = try storage.provider.describe(objectID: objectID, in: storage.access)
            guard let contents = PresentContents.unchanged(of: object, as: former) else { return nil }
            if conditions.isMet(by: contents.tag) {
                context.replyHeaders += DownloadStream.headers(for: contents.tag)
                return .notModified
            }
            let positions = try conditions.positions(of: contents.tag, length: contents.sizeBytes)
            return try DownloadStream(
                positions, of: former, object: object, contents: contents, storage: storage, context: context
            ).run()
        } catch let error as CloudStorageError {
            context.logger.info(
                "Could not read a waiting file from the former account", metadata: .keyed([.reason: "\(error)"]))
            return nil
        }
    }
}
