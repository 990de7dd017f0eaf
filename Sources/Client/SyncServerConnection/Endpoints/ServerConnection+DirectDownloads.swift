import Foundation
import HTTPTypes
import SyncProtocol

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
