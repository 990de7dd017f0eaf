public import Foundation
import HTTPTypes
public import SyncProtocol

extension ServerConnection {
    /// Downloads the current version of a file.
    ///
    /// The bytes are compared with the announced length and checksum; on a mismatch the download is retried, and the
    /// bytes are never returned as the file.
    ///
    /// The file's metadata arrive in a header. `URLSession` on Linux accepts no header of more than 64 KiB over HTTP/2
    /// (a limit of nghttp2) and 100 KiB over HTTP/1.1 (one of libcurl): a file with longer metadata, escaped, cannot be
    /// downloaded there, and the error is ``ServerConnectionError/Code/connectionLost``.
    /// - Parameters:
    ///   - file: Where the bytes are written; an existing file is replaced. After an error, or an outcome other than
    ///     success, it does not exist.
    ///   - label: Identifies the transfer if it outlives the process; see ``UnattendedTransfer``.
    ///   - progress: Called while the bytes arrive.
    public func downloadFile(
        _ request: DownloadFileRequest, to file: URL, label: String? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile> {
        var call = Call(request, repetition: .always)
        call.destination = file
        call.progress = progress
        call.label = label
        do throws(ServerConnectionError) {
            let outcome = try await outcome { () throws(ServerConnectionError) in
                try await perform(call) { reply throws(ServerConnectionError) in
                    try await Self.downloaded(reply, in: file)
                }
            }
            if outcome.value == nil { try? FileManager.default.removeItem(at: file) }
            return outcome
        } catch {
            try? FileManager.default.removeItem(at: file)
            throw error
        }
    }

    /// The outcome of a download whose reply was kept, such as that of an ``UnattendedTransfer``; its bytes are
    /// verified.
    /// - Throws: ``ServerConnectionError`` as ``downloadFile(_:to:label:progress:)``, without another attempt.
    public static func downloadOutcome(
        of reply: HTTPReply, in file: URL
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile> {
        try await outcome { () throws(ServerConnectionError) in
            try check(reply, of: .downloadFile)
            return try await downloaded(reply, in: file)
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

    private static func downloaded(
        _ reply: HTTPReply, in file: URL
    ) async throws(ServerConnectionError) -> Outcome<DownloadedFile> {
        switch try reply.message(of: .downloadFile, as: DownloadFileResponse.self) {
        case .stale(let current): return .stale(current: current)
        case .gone(let appMetaData, let storage, let reason):
            return .gone(Gone(reason, appMetaData: appMetaData, cloudStorageType: storage))
        case .found(let appMetaData, let storage, let announced, let contentsChanged):
            let length = reply.fileLength ?? 0
            // The length of an encoded body is that of the encoded bytes.
            if reply.header(.contentEncoding) == nil, let text = reply.header(.contentLength),
                Int64(text) != length
            {
                throw mismatch("\(length) bytes came instead of \(text)")
            }
            let checkSum: CheckSum
            do {
                checkSum = try await CheckSum.ofFile(at: file, flavour: storage.checkSumFlavour)
            } catch is CancellationError {
                throw ServerConnectionError(.cancelled, endpoint: .downloadFile, isRetryable: true)
            } catch {
                throw ServerConnectionError(.fileUnwritable, endpoint: .downloadFile, underlyingError: error)
            }
            guard checkSum == announced else { throw mismatch("the checksum is another one") }
            return .success(
                DownloadedFile(
                    appMetaData: appMetaData, cloudStorageType: storage, checkSum: checkSum,
                    contentsChanged: contentsChanged, length: length))
        }
    }

    private static func mismatch(_ detail: String) -> ServerConnectionError {
        ServerConnectionError(
            .contentMismatch, endpoint: .downloadFile, status: 200, isRetryable: true, detail: detail)
    }
}
