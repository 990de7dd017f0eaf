import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Records how far an upload gets that comes in several requests, as long as it is this request that sends its bytes.
final class UploadRecorder {
    private static let checkInterval: Duration = .seconds(15)

    let upload: ResumableUpload
    /// Where the hashes of the bytes stand that have come before.
    let arriving: ArrivingHashes
    /// The position in the content behind the last byte of this request.
    let pieceEnd: Int64
    private(set) var progress: UploadProgress
    private(set) var session: String?
    private let writer: String
    private let context: RequestContext
    private var checked = ContinuousClock.now

    /// - Parameters:
    ///   - upload: as it was when this request took it over, with its destination.
    ///   - identity: what the bytes must turn out to be besides.
    ///   - writer: this request.
    /// - Returns: `nil` if what was recorded cannot be used; all bytes must come again then.
    init?(
        of upload: ResumableUpload, into storageType: CloudStorageType, provenBy identity: ContentIdentity?,
        by writer: String, pieceEnd: Int64, context: RequestContext
    ) throws {
        let progress = upload.progress
        if progress.storedBytes == 0 {
            arriving = ArrivingHashes(for: storageType, provenBy: identity)
        } else {
            let known = ArrivingHashes(
                for: storageType, provenBy: identity, state: progress.hashState, lengthBytes: progress.storedBytes)
            guard let known else { return nil }
            arriving = known
        }
        if let sealed = progress.session {
            guard let opened = try context.services.storage.vault.opened(sealed, of: upload.uploadUUID) else {
                return nil
            }
            session = opened
        }
        self.upload = upload
        self.progress = progress
        self.writer = writer
        self.pieceEnd = pieceEnd
        self.context = context
    }

    /// Records what the provider keeps.
    /// - Parameters:
    ///   - arriving: where the hashes stand there.
    ///   - isCertain: whether it keeps no more.
    /// - Throws: ``EndpointError/uploadConflict`` if another request has taken the upload over; ``StoreError``.
    func record(_ session: String?, _ arriving: ArrivingHashes, isCertain: Bool = true) throws {
        let sealed = try session.map { try context.services.storage.vault.sealed($0, of: upload.uploadUUID) }
        let new = UploadProgress(
            storedBytes: arriving.lengthBytes, isCertain: isCertain, hashState: arriving.state, session: sealed)
        try requireOwnership { try $0.record(new, of: upload.uploadUUID, by: writer) }
        progress = new
        self.session = session
    }

    /// Makes sure, once in a while, that no other request has taken the upload over.
    /// - Throws: as ``record(_:_:isCertain:)``.
    func keepAlive() throws {
        guard checked.duration(to: .now) > Self.checkInterval else { return }
        try requireOwnership { try $0.isWriter(writer, of: upload.uploadUUID) }
        checked = .now
    }

    private func requireOwnership(_ step: (inout StoreSession) throws -> Bool) throws {
        guard try context.store.transaction({ try step(&$0) }) else { throw EndpointError.uploadConflict }
    }

    /// Records that all bytes must come again.
    func startOver() {
        do {
            try requireOwnership { try $0.record(.none, of: upload.uploadUUID, by: writer) }
            progress = .none
            session = nil
        } catch {
            context.logger.info("Loss of an upload not recorded", metadata: .keyed([.reason: "\(error)"]))
        }
    }
}
