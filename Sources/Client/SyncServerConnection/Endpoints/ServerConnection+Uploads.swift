public import Foundation
public import SyncProtocol

extension ServerConnection {
    /// Stages a new file, or the next version of one.
    ///
    /// Large files are sent in pieces if server and executor support that: a lost connection, or a call that ended
    /// early, costs only the bytes that the storage has not kept yet. Another call with the same request, even with
    /// another master version, continues from there.
    /// - Parameters:
    ///   - file: The file's contents, which must not change meanwhile; their checksum is part of the request (see
    ///     ``SyncProtocol/CheckSum/ofFile(at:flavour:)``).
    ///   - label: Identifies the transfer if it outlives the process; see ``UnattendedTransfer``.
    ///   - progress: Called while the bytes are sent.
    public func uploadFile(
        _ request: UploadFileRequest, from file: URL, label: String? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServerConnectionError) -> Outcome<StagedFile> {
        var call = Call(request, repetition: .always)
        call.body = .file(file)
        call.progress = progress
        call.label = label
        return try await outcome { () throws(ServerConnectionError) in
            let upload = PiecewiseUpload(request: request, file: file, label: label, progress: progress)
            if let outcome = try await uploadInPieces(upload) { return outcome }
            return try await perform(call) { reply throws(ServerConnectionError) in try Self.staged(reply) }
        }
    }

    /// The outcome of an upload whose reply was kept, such as that of an ``UnattendedTransfer``.
    /// - Throws: ``ServerConnectionError`` like ``uploadFile(_:from:label:progress:)``, without a retry.
    public static func uploadOutcome(of reply: HTTPReply) async throws(ServerConnectionError) -> Outcome<StagedFile> {
        try await outcome { () throws(ServerConnectionError) in
            try check(reply, of: .uploadFile)
            return try staged(reply)
        }
    }

    static func staged(_ reply: HTTPReply) throws(ServerConnectionError) -> Outcome<StagedFile> {
        staged(try reply.message(of: .uploadFile, as: UploadFileResponse.self))
    }

    static func staged(_ response: UploadFileResponse) -> Outcome<StagedFile> {
        switch response {
        case .staged(let creationDate, let updateDate):
            .success(StagedFile(creationDate: creationDate, updateDate: updateDate))
        case .committed(let creationDate, let updateDate, let masterVersion):
            .success(
                StagedFile(creationDate: creationDate, updateDate: updateDate, committedMasterVersion: masterVersion))
        case .stale(let current): .stale(current: current)
        }
    }

    /// Maximum size of a query with metadata: with the headers it passes proxies that accept 8 KiB of request line
    /// (Apache) or 16 KiB of request (HAProxy). The server itself accepts 60,000 bytes of query and headers.
    static let maximumQueryMetadataBytes = 6_000

    /// Stages a change to a committed file's app metadata. Long metadata are sent as the body, if the server supports
    /// that.
    public func uploadAppMetaData(
        _ request: UploadAppMetaDataRequest
    ) async throws(ServerConnectionError) -> Outcome<StagedChange> {
        var call = Call(request, repetition: .always)
        if let appMetaData = request.appMetaData, call.query.utf8.count > Self.maximumQueryMetadataBytes,
            extensions != .absent
        {
            let rest = UploadAppMetaDataRequest(
                fileUUID: request.fileUUID, appMetaData: nil, masterVersion: request.masterVersion,
                sharingGroupUUID: request.sharingGroupUUID, batch: request.batch)
            call = Call(rest, repetition: .always)
            call.body = .bytes(Data(appMetaData.jsonText.utf8))
        }
        return try await staging(call)
    }

    /// Stages the deletion of a committed file.
    public func uploadDeletion(
        _ request: UploadDeletionRequest
    ) async throws(ServerConnectionError) -> Outcome<StagedChange> {
        try await staging(Call(request, repetition: .always))
    }

    /// Lists the changes that this user has staged on this device in one group.
    public func uploads(in group: SharingGroupUUID) async throws(ServerConnectionError) -> [FileInfo] {
        try await perform(GetUploadsRequest(sharingGroupUUID: group), repetition: .always).uploads
    }

    /// Discards changes that this user has staged on this device in one group: all of them, or those of some files or
    /// of a batch.
    /// - Returns: The number of discarded changes.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server does not support it, among others.
    public func discardUploads(_ request: DiscardUploadsRequest) async throws(ServerConnectionError) -> Int {
        Int(try await perform(request, repetition: .always).numberUploadsDiscarded)
    }

    /// Commits everything that this user has staged on this device in one group outside of batches.
    ///
    /// A request with a ``DoneUploadsRequest/commitID`` is retried if its reply is lost, provided that the server has
    /// extensions.
    /// - Parameter deletions: The number of staged deletions: servers of older generations remove the objects from the
    ///   clouds before they reply, so each adds 5 s to the timeout.
    /// - Returns: The number of committed changes; the group's master version has increased by one.
    public func doneUploads(
        _ request: DoneUploadsRequest, deletions: Int = 0
    ) async throws(ServerConnectionError) -> Outcome<Int> {
        var call = Call(request, repetition: request.commitID == nil ? .ifNotCarriedOut : .ifRecognised)
        call.idleTimeout = configuration.idleTimeout + .seconds(5) * deletions
        return try await outcome { () throws(ServerConnectionError) in
            let response = try await perform(call) { reply throws(ServerConnectionError) in
                try reply.message(of: .doneUploads, as: DoneUploadsResponse.self)
            }
            switch response {
            case .committed(let number): return .success(Int(number))
            case .stale(let current): return .stale(current: current)
            }
        }
    }

    private func staging(_ call: Call) async throws(ServerConnectionError) -> Outcome<StagedChange> {
        let endpoint = call.endpoint
        return try await outcome { () throws(ServerConnectionError) in
            let response = try await perform(call) { reply throws(ServerConnectionError) in
                try reply.message(of: endpoint, as: StagingResponse.self)
            }
            switch response {
            case .staged: return .success(StagedChange())
            case .committed(let masterVersion): return .success(StagedChange(committedMasterVersion: masterVersion))
            case .stale(let current): return .stale(current: current)
            }
        }
    }

    /// Turns a 410 that has a reason into an outcome.
    func outcome<Value>(
        _ body: () async throws(ServerConnectionError) -> Outcome<Value>
    ) async throws(ServerConnectionError) -> Outcome<Value> {
        do throws(ServerConnectionError) {
            return try await body()
        } catch {
            return try Self.gone(error)
        }
    }

    /// Turns a 410 that has a reason into an outcome, without a connection.
    static func outcome<Value>(
        _ body: () async throws(ServerConnectionError) -> Outcome<Value>
    ) async throws(ServerConnectionError) -> Outcome<Value> {
        do throws(ServerConnectionError) {
            return try await body()
        } catch {
            return try gone(error)
        }
    }

    private static func gone<Value>(_ error: ServerConnectionError) throws(ServerConnectionError) -> Outcome<Value> {
        guard error.code == .gone, let reason = error.goneReason else { throw error }
        return .gone(Gone(reason, serverCode: error.serverCode))
    }
}
