public import Foundation
import HTTPTypes
public import SyncProtocol

extension ServerConnection {
    /// Downloads the current version of a file.
    ///
    /// If the connection is lost, the next attempt resumes the download, if the server supports it; the server may by
    /// then have a newer version of the file. The complete bytes are compared with the announced length and checksum;
    /// on a mismatch the download is retried from the beginning, and the bytes are never returned as the file. With
    /// ``ServerConnectionConfiguration/directDownloads`` the bytes come from the owner's storage, if possible, and are
    /// verified in the same way; on any failure, they are downloaded through the server.
    ///
    /// Metadata that are too long for a header are read in a second request, after the bytes. A server of an older
    /// release still sends them in the header, where proxies reject them from 4 KiB, and libcurl (7.88) from 100 KiB.
    /// - Parameters:
    ///   - file: The destination; an existing file is replaced. After an error, or an outcome other than success, it
    ///     does not exist.
    ///   - label: Identifies the transfer if it outlives the process; see ``UnattendedTransfer``.
    ///   - progress: Called while the bytes arrive.
    public func downloadFile(
        _ request: DownloadFileRequest, to file: URL, label: String? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile> {
        do throws(ServerConnectionError) {
            let outcome = try await outcome { () throws(ServerConnectionError) in
                if mayDownloadDirectly(in: request.sharingGroupUUID) {
                    let asking = request.asking(isDirect: true)
                    switch try await delivery(of: asking, to: file, label: label, progress) {
                    case .outcome(let outcome): return try await completed(outcome, by: request)
                    case .elsewhere(let place):
                        if let outcome = try await fetch(place, in: request.sharingGroupUUID, to: file, progress) {
                            return try await completed(outcome, by: request)
                        }
                    }
                }
                let asking = request.asking(isDirect: false)
                switch try await delivery(of: asking, to: file, label: label, progress) {
                case .outcome(let outcome): return try await completed(outcome, by: request)
                case .elsewhere: throw Self.mismatch("the bytes are elsewhere")
                }
            }
            if outcome.value == nil { try? FileManager.default.removeItem(at: file) }
            return outcome
        } catch {
            try? FileManager.default.removeItem(at: file)
            throw error
        }
    }

    /// The server's reply to a download.
    enum Delivery: Sendable {
        /// The server has sent the bytes, or has none.
        case outcome(Outcome<DownloadedFile>)
        case elsewhere(RemoteFile)
    }

    /// Adds the metadata that a reply has omitted.
    ///
    /// The group may have changed since the download began. That does not matter as long as the file's metadata still
    /// have the requested version, which the server verifies.
    private func completed(
        _ outcome: Outcome<DownloadedFile>, by request: DownloadFileRequest
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile> {
        var outcome = outcome
        let isOmitted =
            switch outcome {
            case .success(let file): file.lacksAppMetaData
            case .gone(let gone): gone.lacksAppMetaData
            case .stale: false
            }
        guard isOmitted, let version = request.appMetaDataVersion else { return outcome }
        var masterVersion = request.masterVersion
        for _ in 1...Self.maximumMetaDataRequests {
            let contents: Outcome<String>
            do throws(ServerConnectionError) {
                contents = try await downloadAppMetaData(
                    DownloadAppMetaDataRequest(
                        fileUUID: request.fileUUID, appMetaDataVersion: version, masterVersion: masterVersion,
                        sharingGroupUUID: request.sharingGroupUUID))
            } catch {
                // Replaced or deleted: the index shows the current state.
                guard error.code == .refused, masterVersion != request.masterVersion else { throw error }
                return .stale(current: masterVersion)
            }
            switch contents {
            case .success(let contents):
                outcome.fill(contents)
                return outcome
            case .stale(let current): masterVersion = current
            case .gone(let gone): return .gone(gone)
            }
        }
        return .stale(current: masterVersion)
    }

    /// The maximum number of metadata requests of one download while the group changes.
    private static let maximumMetaDataRequests = 10

    /// A file at an address in its owner's storage.
    struct RemoteFile: Sendable {
        var address: DirectDownload
        var appMetaData: HeaderMetaData
        var cloudStorageType: CloudStorageType
        var checkSum: CheckSum
        var contentsChanged: Bool
    }

    private func delivery(
        of request: DownloadFileRequest, to file: URL, label: String?,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(ServerConnectionError) -> Delivery {
        var call = Call(request, repetition: .always)
        let partial = PartialDownload(file.appendingPathExtension("partial-\(UUID().uuidString)"))
        defer { partial.discard() }
        call.destination = file
        call.partial = partial
        call.expectedStatuses = [206, 416]
        call.progress = progress
        call.label = label
        return try await perform(call) { reply throws(ServerConnectionError) in
            do throws(ServerConnectionError) {
                if reply.response.status.code == 416 { throw Self.mismatch("the file is shorter than the part") }
                return try await Self.delivery(by: partial.assembled(reply), in: file)
            } catch {
                partial.discard()
                throw error
            }
        }
    }

    /// The outcome of a download whose reply was kept, such as that of an ``UnattendedTransfer``; its bytes are
    /// verified. Metadata that were too long for the reply are not part of it: ``DownloadedFile/lacksAppMetaData``.
    /// - Throws: ``ServerConnectionError`` like ``downloadFile(_:to:label:progress:)``, without a retry.
    public static func downloadOutcome(
        of reply: HTTPReply, in file: URL
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile> {
        try await outcome { () throws(ServerConnectionError) in
            try check(reply, of: .downloadFile, expecting: [206])
            switch try await delivery(by: reply, in: file) {
            case .outcome(let outcome): return outcome
            // Only requests that ask for it receive such a reply.
            case .elsewhere: throw mismatch("the bytes are elsewhere")
            }
        }
    }

    /// Reads the current app metadata of a file.
    public func downloadAppMetaData(
        _ request: DownloadAppMetaDataRequest
    ) async throws(ServerConnectionError) -> Outcome<String> {
        try await outcome { () throws(ServerConnectionError) in
            switch try await perform(request, repetition: .always) {
            case .found(let appMetaData): return .success(appMetaData)
            case .stale(let current): return .stale(current: current)
            }
        }
    }

    private static func delivery(by reply: HTTPReply, in file: URL) async throws(ServerConnectionError) -> Delivery {
        switch try reply.message(of: .downloadFile, as: DownloadFileResponse.self) {
        case .stale(let current): return .outcome(.stale(current: current))
        case .gone(let appMetaData, let storage, let reason, let detail):
            return .outcome(
                .gone(
                    Gone(
                        reason, appMetaData: appMetaData.contents, cloudStorageType: storage,
                        isAwaitingReupload: detail == .awaitingReupload, lacksAppMetaData: appMetaData == .omitted)))
        case .elsewhere(let address, let appMetaData, let storage, let announced, let contentsChanged):
            return .elsewhere(
                RemoteFile(
                    address: address, appMetaData: appMetaData, cloudStorageType: storage, checkSum: announced,
                    contentsChanged: contentsChanged))
        case .found(let appMetaData, let storage, let announced, let contentsChanged):
            let length = try await verify(file, of: reply, announced, in: storage)
            return .outcome(
                .success(
                    DownloadedFile(
                        appMetaData: appMetaData.contents, cloudStorageType: storage, checkSum: announced,
                        contentsChanged: contentsChanged, length: length, lacksAppMetaData: appMetaData == .omitted)))
        }
    }

    /// Compares a reply's bytes with the announced length and checksum.
    /// - Returns: The number of bytes.
    /// - Throws: ``ServerConnectionError/Code/contentMismatch``, and errors of reading the file.
    static func verify(
        _ file: URL, of reply: HTTPReply, _ announced: CheckSum, in storage: CloudStorageType
    ) async throws(ServerConnectionError) -> Int64 {
        let length = reply.fileLength ?? 0
        if let announced = reply.announcedFileLength, announced != length {
            throw mismatch("\(length) bytes arrived instead of \(announced)")
        }
        let checkSum: CheckSum
        do {
            checkSum = try await CheckSum.ofFile(at: file, flavour: storage.checkSumFlavour)
        } catch is CancellationError {
            throw ServerConnectionError(.cancelled, endpoint: .downloadFile, isRetryable: true)
        } catch {
            throw ServerConnectionError(.fileUnwritable, endpoint: .downloadFile, underlyingError: error)
        }
        guard checkSum == announced else { throw mismatch("the checksum differs") }
        return length
    }

    private static func mismatch(_ detail: String) -> ServerConnectionError {
        ServerConnectionError(
            .contentMismatch, endpoint: .downloadFile, status: 200, isRetryable: true, detail: detail)
    }
}

extension DownloadFileRequest {
    /// The same download, either directly from the owner's storage or through the server.
    fileprivate func asking(isDirect: Bool) -> DownloadFileRequest {
        DownloadFileRequest(
            fileUUID: fileUUID, fileVersion: fileVersion, masterVersion: masterVersion,
            sharingGroupUUID: sharingGroupUUID, appMetaDataVersion: appMetaDataVersion, isDirect: isDirect,
            mayOmitAppMetaData: appMetaDataVersion != nil)
    }
}

extension Outcome<DownloadedFile> {
    /// Adds metadata that the reply has omitted.
    fileprivate mutating func fill(_ contents: String) {
        switch self {
        case .success(var file):
            (file.appMetaData, file.lacksAppMetaData) = (contents, false)
            self = .success(file)
        case .gone(var gone):
            (gone.appMetaData, gone.lacksAppMetaData) = (contents, false)
            self = .gone(gone)
        case .stale: break
        }
    }
}

extension HTTPReply {
    /// The length of the whole file, even if the reply contains only its end; nil if it is not announced, or is the
    /// length of encoded bytes.
    fileprivate var announcedFileLength: Int64? {
        guard header(.contentEncoding) == nil else { return nil }
        guard response.status.code == 206 else { return header(.contentLength).flatMap { Int64($0) } }
        return header(.contentRange)?.split(separator: "/").last.flatMap { Int64($0) }
    }
}

// Downloads from an address in the owner's storage (docs/protocol.md, section 8.12). If one fails for any reason, the
// bytes are downloaded through the server.
extension ServerConnection {
    /// Transfers that outlive the process consist of one request, so they go through the server.
    func mayDownloadDirectly(in group: SharingGroupUUID) -> Bool {
        configuration.directDownloads && executor.sendsParts && !pieces.withoutDirectDownloads.contains(group)
    }

    /// Reads a file from its owner's storage, and verifies it. Resumes after a lost connection, if the storage supports
    /// it, as long as every ``RetryPolicy/maximumAttempts`` attempts make progress.
    /// - Returns: Nil if the bytes must be downloaded through the server.
    /// - Throws: if the task was cancelled.
    func fetch(
        _ remote: RemoteFile, in group: SharingGroupUUID, to file: URL,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile>? {
        guard remote.address.expires.secondsSince1970 > Int64(environment.now().timeIntervalSince1970),
            let request = HTTPRequest(.get, atStorage: remote.address.url, schemes: storageSchemes)
        else { return nil }
        let partial = PartialDownload(file.appendingPathExtension("partial-\(UUID().uuidString)"))
        defer { partial.discard() }
        var failures = 0
        var received: Int64 = 0
        while true {
            var exchange = HTTPExchange(
                request: request, destination: file, partial: partial, idleTimeout: configuration.idleTimeout)
            exchange.request.headerFields.append(contentsOf: partial.requestHeaders)
            var reply: HTTPReply?
            do throws(TransportFailure) {
                reply = try await executor.execute(exchange, progress: progress)
            } catch {
                guard error.kind != .cancelled else {
                    throw ServerConnectionError(.cancelled, endpoint: .downloadFile, isRetryable: true)
                }
                if error.kind.isBeforeSending || error.kind == .timedOut, partial.receivedBytes == 0 {
                    // Otherwise it would fail again for each of the group's files.
                    pieces.withoutDirectDownloads.insert(group)
                    return nil
                }
            }
            if let reply {
                switch reply.response.status.code {
                case 200, 206: return try await Self.received(partial.assembled(reply), remote, in: file)
                case 408, 429, 500...: break
                default: return nil
                }
            }
            if partial.receivedBytes > received { (received, failures) = (partial.receivedBytes, 0) }
            failures += 1
            let retryAfter = reply?.header(.retryAfter).flatMap { RetryAfter.duration($0, now: environment.now()) }
            guard
                let delay = configuration.retryPolicy.delay(
                    afterAttempt: failures, retryAfter: retryAfter, fraction: environment.randomFraction())
            else { return nil }
            do { try await environment.sleep(delay) } catch {
                throw ServerConnectionError(.cancelled, endpoint: .downloadFile, isRetryable: true)
            }
        }
    }

    /// - Returns: Nil if the bytes differ from the announced ones.
    private static func received(
        _ reply: HTTPReply, _ remote: RemoteFile, in file: URL
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile>? {
        do throws(ServerConnectionError) {
            let length = try await verify(file, of: reply, remote.checkSum, in: remote.cloudStorageType)
            return .success(
                DownloadedFile(
                    appMetaData: remote.appMetaData.contents, cloudStorageType: remote.cloudStorageType,
                    checkSum: remote.checkSum, contentsChanged: remote.contentsChanged, length: length,
                    lacksAppMetaData: remote.appMetaData == .omitted))
        } catch {
            guard error.code == .contentMismatch else { throw error }
            return nil
        }
    }
}
