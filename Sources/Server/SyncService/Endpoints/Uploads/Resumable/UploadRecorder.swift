import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Records the progress of an upload over several requests, while this request sends its bytes.
final class UploadRecorder {
    private static let checkInterval: Duration = .seconds(15)

    let upload: ResumableUpload
    /// The hashes of the bytes that have arrived before.
    let arriving: ArrivingHashes
    /// The position after the last byte of this request.
    let pieceEnd: Int64
    private(set) var progress: UploadProgress
    private(set) var session: String?
    private let writer: String
    private let context: RequestContext
    private var checked = ContinuousClock.now

    /// - Parameters:
    ///   - upload: the upload when this request took it over, with its destination.
    ///   - identity: what else the bytes must match.
    ///   - writer: this request.
    /// - Returns: `nil` if the recorded state cannot be used; all bytes must then be resent.
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

    /// Records the bytes that the provider keeps.
    /// - Parameters:
    ///   - arriving: the hashes of these bytes.
    ///   - isCertain: whether the provider certainly keeps no more.
    /// - Throws: ``EndpointError/uploadConflict`` if another request has taken over the upload; ``StoreError``.
    func record(_ session: String?, _ arriving: ArrivingHashes, isCertain: Bool = true) throws {
        let sealed = try session.map { try context.services.storage.vault.sealed($0, of: upload.uploadUUID) }
        let new = UploadProgress(
            storedBytes: arriving.lengthBytes, isCertain: isCertain, hashState: arriving.state, session: sealed)
        try requireOwnership { try $0.record(new, of: upload.uploadUUID, by: writer) }
        progress = new
        self.session = session
    }

    /// Checks from time to time that no other request has taken over the upload.
    /// - Throws: as ``record(_:_:isCertain:)``.
    func keepAlive() throws {
        guard checked.duration(to: .now) > Self.checkInterval else { return }
        try requireOwnership { try $0.isWriter(writer, of: upload.uploadUUID) }
        checked = .now
    }

    private func requireOwnership(_ step: (inout StoreSession) throws -> Bool) throws {
        guard try context.store.transaction({ try step(&$0) }) else { throw EndpointError.uploadConflict }
    }

    /// Records that all bytes must be resent.
    func startOver() {
        do {
            try requireOwnership { try $0.record(.none, of: upload.uploadUUID, by: writer) }
            progress = .none
            session = nil
        } catch {
            context.logger.info("Could not record the loss of an upload", metadata: .keyed([.reason: "\(error)"]))
        }
    }
}
