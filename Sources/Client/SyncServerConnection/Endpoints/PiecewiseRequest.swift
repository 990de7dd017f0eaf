import SyncProtocol

/// A request whose body may be sent in several separate requests instead (docs/protocol.md, section 8.29).
protocol PiecewiseRequest: Sendable {
    /// The result once all bytes have arrived.
    associatedtype Done: Sendable

    var sharingGroupUUID: SharingGroupUUID { get }
    /// The group's master version, if the request depends on it.
    var presentMasterVersion: MasterVersion? { get }
    var checkSum: CheckSum { get }
    /// Whether the storage may receive the bytes directly.
    static var canBeDirect: Bool { get }

    /// The call that begins the upload, without the number of its bytes.
    /// - Parameters:
    ///   - isDirect: Whether to request an address at which the storage receives the bytes directly.
    ///   - storageHash: The hash that the storage will report, if it differs from the checksum.
    func beginning(isDirect: Bool, storageHash: StorageHash?) -> ServerConnection.Call

    /// - Parameter reply: The reply to ``beginning(isDirect:storageHash:)``.
    func begun(by reply: HTTPReply) throws(ServerConnectionError) -> PiecewiseBeginning<Done>

    /// Nil if bytes are missing.
    func outcome(of response: AppendToUploadResponse) -> Outcome<Done>?
}

/// The server's reply to the beginning of an upload in pieces.
enum PiecewiseBeginning<Done: Sendable>: Sendable {
    case expected(UploadUUID, direct: DirectUpload?)
    /// No bytes need to be sent.
    case done(Outcome<Done>)
}

extension UploadFileRequest: PiecewiseRequest {
    var presentMasterVersion: MasterVersion? { masterVersion }

    static var canBeDirect: Bool { true }

    func beginning(isDirect: Bool, storageHash: StorageHash?) -> ServerConnection.Call {
        let request = CreateUploadRequest(self, isDirect: isDirect, storageHash: storageHash)
        return ServerConnection.Call(request, repetition: .always)
    }

    func begun(by reply: HTTPReply) throws(ServerConnectionError) -> PiecewiseBeginning<StagedFile> {
        switch try reply.message(of: .createUpload, as: CreateUploadResponse.self) {
        case .created(let uploadUUID, let direct): .expected(uploadUUID, direct: direct)
        case .answered(let response): .done(ServerConnection.staged(response))
        }
    }

    func outcome(of response: AppendToUploadResponse) -> Outcome<StagedFile>? {
        if case .answered(let response) = response { ServerConnection.staged(response) } else { nil }
    }
}

extension ReuploadFileRequest: PiecewiseRequest {
    var presentMasterVersion: MasterVersion? { nil }

    static var canBeDirect: Bool { false }

    func beginning(isDirect: Bool, storageHash: StorageHash?) -> ServerConnection.Call {
        ServerConnection.Call(self, repetition: .always)
    }

    func begun(by reply: HTTPReply) throws(ServerConnectionError) -> PiecewiseBeginning<ReuploadFileResponse> {
        let response = try reply.message(of: .reuploadFile, as: ReuploadFileResponse.self)
        return if case .created(let uploadUUID) = response {
            .expected(uploadUUID, direct: nil)
        } else {
            .done(.success(response))
        }
    }

    func outcome(of response: AppendToUploadResponse) -> Outcome<ReuploadFileResponse>? {
        if case .reuploaded(let response) = response { .success(response) } else { nil }
    }
}
