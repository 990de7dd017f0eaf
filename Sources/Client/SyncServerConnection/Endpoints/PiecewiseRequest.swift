import SyncProtocol

/// A request whose body may come in several other requests instead (docs/protocol.md, section 8.29).
protocol PiecewiseRequest: Sendable {
    /// What comes of it once all bytes are there.
    associatedtype Done: Sendable

    var sharingGroupUUID: SharingGroupUUID { get }
    /// The group's master version, if the request depends on it.
    var presentMasterVersion: MasterVersion? { get }

    /// The call that begins the upload, without the number of its bytes.
    /// - Parameter isDirect: Whether to ask for an address at which the storage takes the bytes itself.
    func beginning(isDirect: Bool) -> ServerConnection.Call

    /// - Parameter reply: To ``beginning(isDirect:)``.
    func begun(by reply: HTTPReply) throws(ServerConnectionError) -> PiecewiseBeginning<Done>

    /// Nil if bytes are missing.
    func outcome(of response: AppendToUploadResponse) -> Outcome<Done>?
}

/// What the server replies to the beginning of an upload in pieces.
enum PiecewiseBeginning<Done: Sendable>: Sendable {
    case expected(UploadUUID, direct: DirectUpload?)
    /// There is nothing to send.
    case done(Outcome<Done>)
}

extension UploadFileRequest: PiecewiseRequest {
    var presentMasterVersion: MasterVersion? { masterVersion }

    func beginning(isDirect: Bool) -> ServerConnection.Call {
        ServerConnection.Call(CreateUploadRequest(self, isDirect: isDirect), repetition: .always)
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

    func beginning(isDirect: Bool) -> ServerConnection.Call { ServerConnection.Call(self, repetition: .always) }

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
