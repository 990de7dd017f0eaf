import Foundation
package import SyncEngine
import SyncProtocol
package import SyncServerConnection

/// Sends the engine's requests to the server, and returns the replies.
package protocol RequestPerformer: Sendable {
    /// Performs one request, with all appropriate retries. Downloaded contents are first stored as a file in `files`.
    func reply(
        to request: ServerRequest, files: LibraryFiles, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> ServerReply
}

/// Sends the engine's requests through a ``ServerConnection``.
actor ConnectionPerformer: RequestPerformer {
    private struct KnownIndex {
        let parameters: ServerRequest.IndexRequestParameters
        let entityTag: String
        let response: IndexResponse
    }

    /// The maximum number of files in an index that is kept in memory and reused if the server reports that it is
    /// unchanged.
    private static let maximumKeptFiles = 1_000

    private let connection: ServerConnection
    private let credentialProvider: any CredentialProvider
    /// Records the user; throws if another user is expected.
    private let identify: @Sendable (SignedInUser, AccountType) throws(SyncError) -> Void
    /// Whether the store's user is known to be signed in with the currently active account.
    private var isIdentified = false
    private var knownIndex: KnownIndex?

    init(
        _ connection: ServerConnection, _ credentialProvider: any CredentialProvider,
        identify: @escaping @Sendable (SignedInUser, AccountType) throws(SyncError) -> Void
    ) {
        self.connection = connection
        self.credentialProvider = credentialProvider
        self.identify = identify
    }

    func reply(
        to request: ServerRequest, files: LibraryFiles, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> ServerReply {
        do {
            if !isIdentified { try await findOutWhoItIs() }
            do {
                return try await perform(request, files, progress)
            } catch let error as ServerConnectionError where error.serverCode == .known(.staleEpoch) {
                // Another device has switched accounts: the epoch is adopted, and the versions are unchanged.
                isIdentified = false
                try await findOutWhoItIs()
                return try await perform(request, files, progress)
            }
        } catch let error as RequestFailure {
            return .failed(error)
        } catch let error as ServerConnectionError {
            return .failed(RequestFailure(error))
        } catch {
            return .failed(.localFile)
        }
    }

    /// Identifies the user before a process's first request: the store belongs to one user, and must not be mixed with
    /// another user's groups.
    private func findOutWhoItIs() async throws {
        var outcome: SignInOutcome?
        do {
            outcome = try await connection.checkCredentials()
        } catch {
            guard error.isRetryable, error.code != .serverUnavailable else { throw error }
        }
        if outcome == nil || outcome?.mayNeedRefresh == true {
            // CheckCreds is not retried: its first answer counts. Other requests are retried, and refresh refused
            // credentials.
            _ = try await connection.index(IndexRequest())
            outcome = try await connection.checkCredentials()
        }
        if case .retired(let activeAccountType, let undoUntil) = outcome {
            throw RequestFailure.accountRetired(activeAccountType, undoUntil: undoUntil)
        }
        if case .noUser(.known(.userUnknown)?) = outcome { throw RequestFailure.noUser }
        guard case .user(let user) = outcome, let credentials = await credentialProvider.credentials() else {
            throw RequestFailure.signInRequired
        }
        do { try identify(user, credentials.accountType) } catch {
            switch error.code {
            case .differentUser: throw RequestFailure.differentUser
            default: throw RequestFailure.localStore
            }
        }
        isIdentified = true
    }

    private func perform(
        _ request: ServerRequest, _ files: LibraryFiles, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ServerReply {
        switch request {
        case .index(let parameters): return try await index(parameters)
        case .uploadFile(let upload): return try await self.upload(upload, files, progress)
        case .uploadSmallFiles(let uploads): return try await self.upload(uploads, files, progress)
        case .askForSmallFiles: return .smallFiles(try await connection.smallFileLimits())
        case .uploadAppMetaData(let file, let text, let masterVersion, let group, let batch):
            return Self.reply(
                try await connection.uploadAppMetaData(
                    UploadAppMetaDataRequest(
                        fileUUID: file, appMetaData: text, masterVersion: masterVersion, sharingGroupUUID: group,
                        batch: batch)))
        case .uploadDeletion(let file, let version, let masterVersion, let group, let batch):
            return Self.reply(
                try await connection.uploadDeletion(
                    UploadDeletionRequest(
                        fileUUID: file, fileVersion: version, masterVersion: masterVersion, sharingGroupUUID: group,
                        batch: batch)))
        case .getUploads(let group): return .uploads(try await connection.uploads(in: group))
        case .discardUploads(let group, let files):
            _ = try await connection.discardUploads(DiscardUploadsRequest(sharingGroupUUID: group, fileUUIDs: files))
            return .done
        case .doneUploads(let commit): return try await self.commit(commit)
        case .downloadFile(let file, let version, let textVersion, let masterVersion, let group):
            return try await download(
                DownloadFileRequest(
                    fileUUID: file, fileVersion: version, masterVersion: masterVersion, sharingGroupUUID: group,
                    appMetaDataVersion: textVersion), files, progress)
        case .downloadAppMetaData(let file, let version, let masterVersion, let group):
            return Self.reply(
                try await connection.downloadAppMetaData(
                    DownloadAppMetaDataRequest(
                        fileUUID: file, appMetaDataVersion: version, masterVersion: masterVersion,
                        sharingGroupUUID: group))
            ) { .appMetaDataDownloaded($0) }
        case .createSharingGroup(let group, let name):
            try await connection.createSharingGroup(
                CreateSharingGroupRequest(sharingGroupUUID: group, sharingGroupName: name))
            return .done
        case .removeUserFromSharingGroup(let group, let masterVersion):
            return Self.reply(
                try await connection.removeUserFromSharingGroup(
                    RemoveUserFromSharingGroupRequest(sharingGroupUUID: group, masterVersion: masterVersion))
            ) { .done }
        case .reuploadFile(let upload): return try await reupload(upload, files, progress)
        case .askForServerMove(let switchID):
            return .serverMove(isUnderWay: try await connection.accountSwitchStatus(of: switchID).isMoveUnderWay)
        case .settleAccountSwitch(let switchID):
            return .accountSwitchSettled(numberAwaiting: try await connection.settleAccountSwitch(switchID))
        }
    }

    /// If nothing has changed, an index is cheap: the server reports that, and the last reply is reused.
    private func index(_ parameters: ServerRequest.IndexRequestParameters) async throws -> ServerReply {
        let known = knownIndex?.parameters == parameters ? knownIndex : nil
        let request = IndexRequest(sharingGroupUUID: parameters.sharingGroupUUID, since: parameters.since)
        let outcome: IndexOutcome
        do {
            outcome = try await connection.index(request, ifChangedFrom: known?.entityTag)
        } catch {
            guard let group = parameters.sharingGroupUUID, error.status == 500, error.serverCode == nil,
                try await isLost(group)
            else { throw error }
            return .failed(.refused(status: 404, code: ErrorCode.groupUnknown.rawValue))
        }
        switch outcome {
        case .unchanged:
            guard let known else { throw RequestFailure.unreachable }
            return .index(known.response)
        case .changed(let response, let entityTag):
            let isSmall = (response.files?.fileIndex.count ?? 0) <= Self.maximumKeptFiles
            knownIndex = entityTag.flatMap { entityTag in
                isSmall ? KnownIndex(parameters: parameters, entityTag: entityTag, response: response) : nil
            }
            return .index(response)
        }
    }

    /// Servers of older generations fail with 500 if the user is not, or is no longer, a member of a group.
    private func isLost(_ group: SharingGroupUUID) async throws -> Bool {
        guard await connection.extensions != .present,
            case .changed(let response, _) = try await connection.index(IndexRequest())
        else { return false }
        return !response.sharingGroups.contains { $0.sharingGroupUUID == group && !$0.deleted }
    }

    private func upload(
        _ upload: FileUpload, _ files: LibraryFiles, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ServerReply {
        let file = try Self.unchangedFile(of: upload, files)
        let request = upload.request(try await checkSum(of: file, for: upload.cloudStorageType))
        let label = TransferLabel.upload(upload.fileUUID, upload.fileVersion, upload.appMetaData?.version)
        return Self.reply(
            try await connection.uploadFile(request, from: file, label: label.text, progress: progress),
            Self.reply(toStaged:))
    }

    private static func reply(toStaged staged: StagedFile) -> ServerReply {
        staged.committedMasterVersion.map {
            .batchCommitted($0, creationDate: staged.creationDate, updateDate: staged.updateDate)
        } ?? .fileStaged(creationDate: staged.creationDate, updateDate: staged.updateDate)
    }

    /// The file of an upload.
    /// - Throws: ``RequestFailure/localFile`` if it is missing, or has changed since it was queued.
    private static func unchangedFile(of upload: FileUpload, _ files: LibraryFiles) throws -> URL {
        guard let file = files.url(of: upload.source), let stamp = try? FileStamp(of: file),
            stamp.matches(size: upload.fileSize, modified: upload.fileModified)
        else { throw RequestFailure.localFile }
        return file
    }

    /// Sends several small files in one request, or separately if the server, or a proxy, rejects such a request.
    private func upload(
        _ uploads: [FileUpload], _ files: LibraryFiles, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ServerReply {
        guard let group = uploads.first?.sharingGroupUUID else { return .several([]) }
        var replies: [Int: ServerReply] = [:]
        var sent: [(index: Int, file: ServerConnection.SmallFileUpload)] = []
        for (index, upload) in uploads.enumerated() {
            do {
                let contents = try Data(contentsOf: try Self.unchangedFile(of: upload, files))
                guard upload.fileSize.map({ $0 == contents.count }) ?? true else { throw RequestFailure.localFile }
                let flavour = await flavour(for: upload.cloudStorageType)
                sent.append(
                    (index, .init(upload.request(.of(contents, flavour: flavour)), contents: contents)))
            } catch {
                replies[index] = .failed(.localFile)
            }
        }
        do throws(ServerConnectionError) {
            let results = try await connection.uploadSmallFiles(sent.map(\.file), to: group, progress: progress)
            for ((index, _), result) in zip(sent, results) {
                switch result {
                case .success(let outcome): replies[index] = Self.reply(outcome, Self.reply(toStaged:))
                case .failure(let error) where error.serverCode == .known(.bodyTooLarge): break
                case .failure(let error): replies[index] = .failed(RequestFailure(error))
                }
            }
        } catch {
            guard Self.rejectsForm(error) else { throw error }
        }
        for (index, upload) in uploads.enumerated() where replies[index] == nil {
            replies[index] = await self.reply(to: .uploadFile(upload), files: files, progress: { _ in })
        }
        return .several(uploads.indices.compactMap { replies[$0] })
    }

    /// Whether a request with many small files was rejected as such, regardless of the files.
    private static func rejectsForm(_ error: ServerConnectionError) -> Bool {
        switch error.serverCode {
        case .known(.bodyLengthMismatch): false
        default: error.status.map { [400, 404, 405, 411, 413, 414, 415, 501].contains($0) } ?? false
        }
    }

    /// The flavour of a storage's checksums; that of the user's own storage if `storage` is nil.
    private func flavour(for storage: CloudStorageType?) async -> CheckSum.Flavour {
        let ownStorage = await credentialProvider.credentials()?.accountType.cloudStorageType
        return (storage ?? ownStorage ?? .google).checkSumFlavour
    }

    /// The checksum that a storage would report; that of the user's own storage if `storage` is nil.
    private func checkSum(of file: URL, for storage: CloudStorageType?) async throws -> CheckSum {
        let flavour = await flavour(for: storage)
        do { return try await CheckSum.ofFile(at: file, flavour: flavour) } catch is CancellationError {
            throw RequestFailure.unreachable
        }
    }

    private func reupload(
        _ upload: FileReupload, _ files: LibraryFiles, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ServerReply {
        guard let file = upload.source.flatMap(files.url), let mimeType = upload.attributes.mimeType else {
            throw RequestFailure.localFile
        }
        let length = try FileStamp(of: file).size
        let digits: SHA256Digits
        do { digits = try await SHA256Digits.ofFile(at: file) } catch is CancellationError {
            throw RequestFailure.unreachable
        }
        let request = ReuploadFileRequest(
            fileUUID: upload.attributes.fileUUID, sharingGroupUUID: upload.attributes.sharingGroupUUID,
            fileVersion: upload.fileVersion, mimeType: mimeType,
            checkSum: try await checkSum(of: file, for: upload.cloudStorageType), switchId: upload.switchID,
            contentSHA256: digits)
        return Self.reply(try await connection.reuploadFile(request, from: file, progress: progress)) {
            switch $0 {
            case .stored: .reuploaded(.stored(bytes: length))
            case .alreadyStored: .reuploaded(.alreadyStored)
            // Not a valid reply to an upload of bytes.
            case .created: .failed(.unreachable)
            case .versionAdvanced, .deleted: .reuploaded(.outdated)
            }
        }
    }

    private func download(
        _ request: DownloadFileRequest, _ files: LibraryFiles,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ServerReply {
        let location = files.makeLocation()
        guard let file = files.url(of: location) else { throw RequestFailure.localFile }
        let label = TransferLabel.download(request.fileUUID, request.fileVersion, request.appMetaDataVersion)
        return Self.reply(
            try await connection.downloadFile(request, to: file, label: label.text, progress: progress)
        ) {
            var arrived = ServerReply.FileDownload(
                location: location, appMetaData: $0.appMetaData, cloudStorageType: $0.cloudStorageType,
                contentsChanged: $0.contentsChanged)
            arrived.bytes = $0.length
            return .fileDownloaded(arrived)
        }
    }

    private func commit(_ commit: ServerRequest.Commit) async throws -> ServerReply {
        let outcome = try await connection.doneUploads(
            DoneUploadsRequest(
                masterVersion: commit.masterVersion, sharingGroupUUID: commit.sharingGroupUUID,
                sharingGroupName: commit.sharingGroupName, pushNotificationMessage: commit.pushNotificationMessage,
                commitID: commit.commitID), deletions: commit.numberOfDeletions)
        if case .gone(let gone) = outcome {
            return .failed(.refused(status: 410, code: gone.serverCode?.rawValue))
        }
        return Self.reply(outcome) { .committed(numberUploadsTransferred: $0) }
    }

    private static func reply(_ outcome: Outcome<StagedChange>) -> ServerReply {
        reply(outcome) { staged in
            staged.committedMasterVersion.map { .batchCommitted($0, creationDate: nil, updateDate: nil) } ?? .done
        }
    }

    private static func reply<Value>(_ outcome: Outcome<Value>, _ success: (Value) -> ServerReply) -> ServerReply {
        switch outcome {
        case .success(let value): return success(value)
        case .stale(let current): return .stale(current: current)
        case .gone(let gone):
            // A lost membership is reported by the index, not by a request for one of the group's files.
            if gone.serverCode == .known(.notAMember) {
                return .failed(.refused(status: 410, code: gone.serverCode?.rawValue))
            }
            return .gone(
                gone.reason, appMetaData: gone.appMetaData, gone.cloudStorageType,
                awaitsReupload: gone.isAwaitingReupload)
        }
    }
}

extension FileUpload {
    fileprivate func request(_ checkSum: CheckSum) -> UploadFileRequest {
        UploadFileRequest(
            fileUUID: fileUUID, sharingGroupUUID: sharingGroupUUID, mimeType: mimeType, fileVersion: fileVersion,
            masterVersion: masterVersion, checkSum: checkSum, fileGroupUUID: fileGroupUUID, appMetaData: appMetaData,
            undeleteServerFile: undeleteServerFile, batch: batch)
    }
}

extension SignInOutcome {
    /// Whether other credentials may yield a different answer.
    fileprivate var mayNeedRefresh: Bool {
        if case .noUser(let code) = self { code != .known(.userUnknown) } else { false }
    }
}

extension RequestFailure {
    /// Translates a connection error for the engine.
    init(_ error: ServerConnectionError) {
        switch error.code {
        case .signInRequired where error.serverCode == .known(.accountRetired):
            self = .accountRetired(error.activeAccountType, undoUntil: error.undoUntil)
        case .signInRequired: self = .signInRequired
        case .serverVersionTooOld: self = .serverTooOld
        case .serverUnavailable: self = .serverDown(message: error.maintenanceMessage, retryAfter: error.retryAfter)
        case .fileUnreadable, .fileUnwritable: self = .localFile
        case .refused, .gone, .serverFailed, .notSupported:
            self = .refused(
                status: error.status ?? 500, code: error.serverCode?.rawValue, retryAfter: error.retryAfter)
        case .busy where error.status == 429:
            self = .refused(status: 429, code: error.serverCode?.rawValue, retryAfter: error.retryAfter)
        case .invalidRequest: self = .refused(status: 400, code: nil)
        default: self = .unreachable
        }
    }
}
