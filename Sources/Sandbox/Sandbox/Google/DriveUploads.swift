import FoundationEssentials
import OpenSSLCrypto

/// Drive's upload routes: receiving file contents.
struct DriveUploads {
    let server: SandboxServer
    let effect: FaultEffect
    /// The largest content of a multipart upload: 5 MB ("Upload file data", multipart upload).
    private static let largestMultipartContent = 5_000_000

    /// Handles a request; `fileID` names the file whose content is replaced.
    func respond(to request: SandboxRequest, fileID: String?) throws -> SandboxResponse {
        if let session = request.query["upload_id"] {
            return try ResumableUpload(server: server, effect: effect).respond(to: request, session: session)
        }
        let caller = try DriveCaller(request, server: server)
        guard request.method == (fileID == nil ? "POST" : "PATCH") else {
            server.note(request, "method", "\(request.method) does not start an upload")
            throw DriveError(404, "notFound", "Not Found")
        }
        let mask = try DriveResource.mask(request)
        switch request.query["uploadType"] {
        case "resumable": return try start(request, caller, fileID: fileID)
        case "multipart":
            let file = try storeMultipart(caller, fileID, request)
            return try answer(file, mask, caller)
        case "media":
            let content = try server.directory.receive(request, .md5, withSHA256: isSmall(request))
            return try answer(try put(content, try DriveMetadata([]), caller, fileID, request), mask, caller)
        case let type:
            server.note(request, "upload-type", "uploadType is \(type ?? "missing")")
            throw DriveError.invalid("uploadType", "Unknown upload type")
        }
    }

    private func answer(_ file: DriveFile, _ mask: FieldMask, _ caller: DriveCaller) throws -> SandboxResponse {
        guard let drive = server.withState({ $0.drives[caller.account.id] }) else { throw DriveError.notFound(file.id) }
        return SandboxResponse(
            200, json: DriveResource(server: server, account: caller.account).json(file, in: drive, mask: mask))
    }

    private func isSmall(_ request: SandboxRequest) -> Bool {
        request.body.declaredLength.map { $0 <= StoredContent.largestWithAllChecksums } ?? false
    }

    /// Makes the content of a request the content of a file.
    private func put(
        _ content: UploadedContent, _ metadata: DriveMetadata, _ caller: DriveCaller, _ fileID: String?,
        _ request: SandboxRequest
    ) throws -> DriveFile {
        do {
            if let fileID {
                let time = server.now
                return try server.changeFile(fileID, by: caller, at: time, content: content) { file, _ in
                    metadata.apply(to: &file, at: time)
                }
            }
            return try server.createFile(metadata, content: content, by: caller, request: request)
        } catch {
            server.directory.remove(content.path)
            throw error
        }
    }

    /// Stores the second part of a `multipart/related` request, which is parsed strictly.
    private func storeMultipart(
        _ caller: DriveCaller, _ fileID: String?, _ request: SandboxRequest
    ) throws -> DriveFile {
        let limit = Self.largestMultipartContent
        guard request.body.declaredLength ?? 0 <= limit + MultipartRelated.largestFrame else {
            throw tooLarge(request)
        }
        do {
            var parts = try MultipartRelated(
                contentType: request.header("content-type") ?? "", body: request.body)
            let metadata = try DriveMetadata(parts.metadata)
            let type = parts.contentType
            let content = try server.directory.store(.md5, withSHA256: isSmall(request), type: type) { writer in
                try parts.readContent { piece in
                    guard writer.count + piece.count <= limit else { throw tooLarge(request) }
                    try writer.append(piece)
                }
            }
            return try put(content, metadata, caller, fileID, request)
        } catch let error as MultipartRelated.Malformed {
            server.note(request, "multipart", error.message)
            throw DriveError(400, "badContent", "Malformed multipart body.")
        }
    }

    private func tooLarge(_ request: SandboxRequest) -> DriveError {
        server.note(request, "multipart-size", "multipart uploads are for files of at most 5 MB")
        return DriveError(413, "uploadTooLarge", "Request is too large.")
    }

    /// Starts a resumable upload.
    private func start(
        _ request: SandboxRequest, _ caller: DriveCaller, fileID: String?
    ) throws -> SandboxResponse {
        let metadata = try DriveRoutes.metadata(request, server: server)
        let length = request.header("x-upload-content-length").map { Int($0) ?? -1 }
        if let length, length < 0 {
            server.note(request, "content-length", "X-Upload-Content-Length is not a number")
            throw DriveError.invalid("X-Upload-Content-Length")
        }
        let account = caller.account.id
        if fileID == nil { try server.requireUsableID(metadata, account: account, request) }
        let time = server.now
        let id = "A" + RandomText.token(60)
        let session = UploadSession(
            id: id,
            plan: UploadSession.Plan(
                account: account, project: caller.project,
                fileID: fileID ?? metadata.id ?? DriveFileID.generate(for: account), isUpdate: fileID != nil,
                metadata: metadata, contentType: request.header("x-upload-content-type"),
                fields: FieldMask.text(request), createdAt: time),
            bytes: PartialUpload(path: server.directory.uploadPath(id), .md5, total: length))
        try server.withState { state in
            guard let drive = state.drives[account] else { throw DriveError.notFound(session.plan.fileID) }
            var free = (state.accounts[account]?.quotaBytes ?? 0) - drive.usedBytes
            if let fileID {
                free += try caller.file(fileID, in: drive).size ?? 0
            } else {
                try SandboxServer.requireUnused(session.plan.fileID, in: drive)
                _ = try caller.folder(metadata.parents?.first, in: drive)
            }
            guard length ?? 0 <= free else { throw DriveError.quotaExceeded }
            state.forgetUploads(before: time.addingTimeInterval(-UploadSession.lifeSeconds), in: server.directory)
            state.uploads[session.id] = session
        }
        try server.directory.write(session.json, to: server.directory.uploadFile(session.id))
        return SandboxResponse(
            200,
            headers: [
                (
                    "Location",
                    "https://www.googleapis.com\(request.path)?uploadType=resumable&upload_id=\(session.id)"
                ),
                ("X-GUploader-UploadID", session.id), ("Cache-Control", "no-cache, no-store, max-age=0"),
            ])
    }
}

extension SandboxState {
    /// Deletes uploads that were started before that time.
    fileprivate mutating func forgetUploads(before time: Date, in directory: StateDirectory) {
        guard uploads.count > 1_000 else { return }
        for session in uploads.values where session.plan.createdAt < time || session.bytes.isFinished {
            uploads[session.id] = nil
            directory.remove(directory.uploadFile(session.id))
            directory.remove(directory.uploadPath(session.id))
        }
    }
}
