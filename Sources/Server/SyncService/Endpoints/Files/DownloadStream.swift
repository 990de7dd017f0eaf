import Providers
import Store
import SyncProtocol
import Vault

/// The data path from the cloud to the phone.
///
/// The checksum is in the reply's header, so it is announced before the bytes. They are hashed as they pass, and the
/// last ones are held back until the checksum is verified; if it does not match, the connection is cut. A phone never
/// gets a complete body that does not match the header.
final class DownloadStream {
    /// How many bytes at the end are held back.
    private static let heldBackBytes: Int64 = 64 * 1024

    private let file: FileRecord
    private let object: StoredObject
    private let storage: UserStorage
    private let context: RequestContext
    private let announced: CheckSum
    private let contentsChanged: Bool
    private var hasher: CheckSumHasher?
    private var heldBack: [UInt8] = []
    /// The length of the whole object: as it is sent, or else as it was described.
    private var lengthBytes: Int64
    private var received: Int64 = 0
    private var hasStarted = false
    private var failure: (any Error)?

    init(
        file: FileRecord, object: StoredObject, contents: PresentContents, storage: UserStorage,
        context: RequestContext
    ) {
        self.file = file
        self.object = object
        lengthBytes = object.sizeBytes
        self.storage = storage
        self.context = context
        announced = contents.checkSum
        contentsChanged = contents.hasChanged
        hasher = CheckSumHasher(for: file.owningUser.storageType)
    }

    /// Streams the whole object.
    /// - Throws: ``ReplyInterrupted`` or ``ClientGone`` once the reply has begun; before that, the provider's error.
    func run() throws -> EndpointReply {
        do {
            try storage.provider.download(
                objectID: object.objectID, from: storage.access,
                begin: { if let lengthBytes = $0 { self.lengthBytes = lengthBytes } },
                receive: { bytes in
                    do {
                        try self.forward(bytes)
                        return true
                    } catch {
                        self.failure = error
                        return false
                    }
                })
        } catch {
            if let failure { throw failure }
            if hasStarted { throw ReplyInterrupted(reason: "\(error)") }
            throw error
        }
        try finish()
        return .sent(bytes: received)
    }

    private func forward(_ bytes: Span<UInt8>) throws {
        // Bytes before the held-back end are forwarded at once, without another copy. If there are none, the reply has
        // not begun: a head that announces no bytes would be a complete reply before the checksum is verified.
        let throughBytes = max(0, min(Int64(bytes.count), lengthBytes - Self.heldBackBytes - received))
        let through = Int(throughBytes)
        if through > 0 {
            if !hasStarted { try start() }
            let front = bytes.extracting(first: through)
            hasher?.update(front)
            try context.connection.write(front)
        }
        if through < bytes.count {
            let rest = bytes.extracting(droppingFirst: through)
            hasher?.update(rest)
            guard heldBack.count + rest.count <= Self.heldBackBytes + 65_536 else {
                guard hasStarted else { throw CloudStorageError.contentMismatch }
                throw ReplyInterrupted(reason: "the object grew while it was read")
            }
            for index in rest.indices { heldBack.append(rest[index]) }
        }
        received += Int64(bytes.count)
    }

    private func finish() throws {
        let checkSum = hasher.take()?.finish()
        guard received == lengthBytes, checkSum == announced else {
            if hasStarted { throw ReplyInterrupted(reason: "the bytes have another checksum than announced") }
            throw CloudStorageError.contentMismatch
        }
        if !hasStarted { try start() }
        let end = heldBack
        try context.connection.write(end.span)
    }

    private func start() throws {
        hasStarted = true
        let parameters = DownloadFileResponse.found(
            appMetaData: file.appMetaData, cloudStorageType: file.owningUser.storageType, checkSum: announced,
            contentsChanged: contentsChanged)
        try context.connection.start(
            status: 200,
            headers: context.services.commonHeaders + [
                (name: ResponseHeader.messageParams.rawValue, value: parameters.headerText),
                (name: "content-type", value: "application/octet-stream"),
                (name: "content-length", value: "\(lengthBytes)"),
            ])
    }
}
