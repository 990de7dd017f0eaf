import Foundation
import HTTPTypes
import SyncProtocol

/// An upload of a file whose bytes are sent in several requests (docs/protocol.md, section 8.29).
struct PiecewiseUpload<Request: PiecewiseRequest>: Sendable {
    let request: Request
    let file: URL
    let label: String?
    let progress: (@Sendable (TransferProgress) -> Void)?
}

/// A connection's findings about uploads in pieces.
struct PieceSupport: Sendable {
    /// The minimum size of files that are sent in pieces; smaller files can lose little.
    static let smallestFileBytes: Int64 = 4 << 20
    /// The size of a piece, which is in memory while it is sent; a multiple of the units that all storages keep.
    static let pieceBytes: Int64 = 16 << 20

    /// Whether the server does not support uploads in pieces.
    var isAbsent = false
    /// Groups whose storage accepts files only in one piece.
    var wholeFilesOnly: Set<SharingGroupUUID> = []
    /// Groups for whose storage the server has provided no upload address.
    var withoutDirectUploads: Set<SharingGroupUUID> = []
    /// Groups whose storage could not be reached for downloads.
    var withoutDirectDownloads: Set<SharingGroupUUID> = []
}

extension ServerConnection {
    /// The version of the draft that this library implements.
    private static let draftInteropVersion = "6"

    /// An upload that the server knows, with its progress.
    private struct Begun {
        var uploadUUID: UploadUUID
        var offset: Int64
    }

    private enum Beginning<Done: Sendable>: Sendable {
        case begun(UploadUUID, offset: Int64, direct: DirectUpload?)
        /// There is nothing to send.
        case answered(Outcome<Done>)
    }

    private enum PieceReply<Done: Sendable>: Sendable {
        case incomplete(offset: Int64)
        case answered(Outcome<Done>)
    }

    /// Sends a file in pieces.
    /// - Returns: nil if it must be sent whole.
    func uploadInPieces<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>
    ) async throws(ServerConnectionError) -> Outcome<Request.Done>? {
        let group = upload.request.sharingGroupUUID
        guard executor.sendsParts, extensions == .present, !pieces.isAbsent, !pieces.wholeFilesOnly.contains(group),
            let lengthBytes = FileCalls.status(of: upload.file.path)?.size,
            lengthBytes >= smallestFileBytes(in: group)
        else { return nil }
        var beginnings = 0
        while true {
            beginnings += 1
            do throws(ServerConnectionError) {
                // A direct upload that has failed is not retried.
                let asksForAddress = beginnings == 1 && lengthBytes >= DirectUpload.smallestFileBytes
                switch try await begin(upload, lengthBytes: lengthBytes, direct: asksForAddress) {
                case .answered(let outcome): return outcome
                case .begun(let uploadUUID, let offset, let direct):
                    if offset == 0, let direct,
                        let outcome = try await send(upload, to: direct, uploadUUID, lengthBytes)
                    {
                        return outcome
                    }
                    return try await send(upload, to: Begun(uploadUUID: uploadUUID, offset: offset), lengthBytes)
                }
            } catch {
                if error.code == .notSupported {
                    pieces.isAbsent = true
                    return nil
                }
                if error.serverCode == .known(.pieceTooSmall) {
                    pieces.wholeFilesOnly.insert(group)
                    return nil
                }
                guard error.endsUpload, beginnings < configuration.retryPolicy.maximumAttempts else { throw error }
            }
        }
    }

    /// Finds the upload that an earlier call has begun, or begins it.
    private func begin<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, lengthBytes: Int64, direct: Bool
    ) async throws(ServerConnectionError) -> Beginning<Request.Done> {
        let group = upload.request.sharingGroupUUID
        let isDirect = direct && Request.canBeDirect && mayUploadDirectly(in: group)
        // OneDrive's own hash differs from the checksum.
        let storageHash =
            isDirect && upload.request.checkSum.flavour == .sha1 ? try? await StorageHash.ofFile(at: upload.file) : nil
        if Task.isCancelled { throw ServerConnectionError(.cancelled, endpoint: .createUpload, isRetryable: true) }
        var call = upload.request.beginning(isDirect: isDirect, storageHash: storageHash)
        call.headers[RequestHeader.uploadLength.fieldName] = "\(lengthBytes)"
        call.expectedStatuses = [201]
        let beginning: Beginning<Request.Done> = try await perform(call) { reply throws(ServerConnectionError) in
            switch try upload.request.begun(by: reply) {
            case .expected(let uploadUUID, let direct):
                return .begun(
                    uploadUUID, offset: try reply.uploadOffset(of: .createUpload, upTo: lengthBytes),
                    direct: isDirect ? direct : nil)
            case .done(let outcome): return .answered(outcome)
            }
        }
        if isDirect, case .begun(_, _, nil) = beginning { pieces.withoutDirectUploads.insert(group) }
        return beginning
    }

    /// Sends the missing bytes. After a lost connection, resumes at the storage's position, as long as every
    /// ``RetryPolicy/maximumAttempts`` attempts make progress.
    private func send<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, to begun: Begun, _ lengthBytes: Int64
    ) async throws(ServerConnectionError) -> Outcome<Request.Done> {
        var offset = begun.offset
        var failures = 0
        while true {
            do throws(ServerConnectionError) {
                let end = min(offset + PieceSupport.pieceBytes, lengthBytes)
                switch try await append(upload, offset..<end, to: begun.uploadUUID, of: lengthBytes) {
                case .answered(let outcome): return outcome
                case .incomplete(let next):
                    if next > offset { failures = 0 }
                    offset = next
                }
            } catch {
                failures += 1
                guard error.leavesPieces,
                    let delay = configuration.retryPolicy.delay(
                        afterAttempt: failures, retryAfter: error.retryAfter, fraction: environment.randomFraction())
                else { throw error }
                do { try await environment.sleep(delay) } catch {
                    throw ServerConnectionError(.cancelled, endpoint: .appendToUpload, isRetryable: true)
                }
                let kept = try await self.offset(of: begun.uploadUUID, upTo: lengthBytes)
                if kept > offset { failures = 0 }
                offset = kept
            }
        }
    }

    private func append<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, _ range: Range<Int64>, to uploadUUID: UploadUUID, of lengthBytes: Int64
    ) async throws(ServerConnectionError) -> PieceReply<Request.Done> {
        let request = AppendToUploadRequest(uploadUUID, masterVersion: upload.request.presentMasterVersion)
        // Sent again only if the server has not seen it: otherwise the upload may have reached another position.
        var call = Self.appending(
            request, from: range.lowerBound, isLast: range.upperBound == lengthBytes, repetition: .ifNotCarriedOut)
        call.body = range.isEmpty ? .none : .part(of: upload.file, range)
        call.label = upload.label
        if let report = upload.progress {
            call.progress = { part in
                report(TransferProgress(sentBytes: range.lowerBound + part.sentBytes, totalBytes: lengthBytes))
            }
        }
        return try await perform(call) { reply throws(ServerConnectionError) in
            let response = try reply.message(of: .appendToUpload, as: AppendToUploadResponse.self)
            if let outcome = upload.request.outcome(of: response) { return .answered(outcome) }
            return .incomplete(offset: try reply.uploadOffset(of: .appendToUpload, upTo: lengthBytes))
        }
    }

    /// The call that continues an upload at an offset, without bytes.
    static func appending(
        _ request: AppendToUploadRequest, from offset: Int64, isLast: Bool, repetition: Repetition
    ) -> Call {
        var call = Call(request, repetition: repetition)
        call.headers[RequestHeader.uploadDraftInteropVersion.fieldName] = draftInteropVersion
        call.headers[RequestHeader.uploadOffset.fieldName] = "\(offset)"
        call.headers[RequestHeader.uploadComplete.fieldName] = isLast ? "?1" : "?0"
        call.headers[.contentType] = "application/partial-upload"
        call.expectedStatuses = [204]
        return call
    }

    /// The number of bytes that need not be sent again.
    private func offset(
        of uploadUUID: UploadUUID, upTo lengthBytes: Int64
    ) async throws(ServerConnectionError) -> Int64 {
        var call = Call(GetUploadOffsetRequest(uploadUUID), repetition: .always)
        call.headers[RequestHeader.uploadDraftInteropVersion.fieldName] = Self.draftInteropVersion
        call.expectedStatuses = [204]
        return try await perform(call) { reply throws(ServerConnectionError) in
            try reply.uploadOffset(of: .getUploadOffset, upTo: lengthBytes)
        }
    }
}

extension ServerConnectionError {
    /// Whether the upload no longer exists, and may succeed if restarted: it has expired, or its bytes were damaged.
    fileprivate var endsUpload: Bool {
        serverCode == .known(.uploadUnknown) || code == .refused && isRetryable && serverCode != .known(.uploadConflict)
    }

    /// Whether a piece may have been kept, wholly or in part, so that its upload continues.
    fileprivate var leavesPieces: Bool {
        switch code {
        case .connectionLost, .timedOut, .serverFailed, .invalidReply: isRetryable
        case .refused: serverCode == .known(.uploadOffsetMismatch) || serverCode == .known(.uploadConflict)
        default: false
        }
    }
}

extension HTTPReply {
    /// The position of the first missing byte, at most the length of the file.
    /// - Throws: ``ServerConnectionError/Code/invalidReply``.
    fileprivate func uploadOffset(
        of endpoint: EndpointName, upTo lengthBytes: Int64
    ) throws(ServerConnectionError) -> Int64 {
        guard let offset = response.headerFields[ResponseHeader.uploadOffset.fieldName].flatMap({ Int64($0) }),
            0...lengthBytes ~= offset
        else {
            throw ServerConnectionError(.invalidReply, endpoint: endpoint, status: response.status.code)
        }
        return offset
    }
}

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
