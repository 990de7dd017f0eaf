import Foundation
import HTTPTypes
import SyncProtocol

extension DirectUpload {
    /// The minimum size of direct uploads; smaller files are faster through the server.
    static let smallestFileBytes: Int64 = 2 << 20
}

// Uploads to an address in the owner's storage that the server has obtained (docs/protocol.md, section 8.29). If one
// fails for any reason, the same upload continues through the server.
extension ServerConnection {
    func mayUploadDirectly(in group: SharingGroupUUID) -> Bool {
        configuration.directUploads && !pieces.withoutDirectUploads.contains(group)
    }

    /// The minimum size of files that are not sent in one request to the server.
    func smallestFileBytes(in group: SharingGroupUUID) -> Int64 {
        mayUploadDirectly(in: group) ? DirectUpload.smallestFileBytes : PieceSupport.smallestFileBytes
    }

    /// The accepted schemes of storage addresses. Only tests have a server, and therefore a storage, without TLS.
    var storageSchemes: Set<String> { ["https", configuration.baseURL.scheme ?? "https"] }

    /// Sends a file to the storage, and has the server verify it there.
    /// - Returns: nil if all bytes must be sent through the server.
    /// - Throws: if the upload has ended, or the task was cancelled.
    func send<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, to direct: DirectUpload, _ uploadUUID: UploadUUID, _ lengthBytes: Int64
    ) async throws(ServerConnectionError) -> Outcome<Request.Done>? {
        guard direct.expires.secondsSince1970 > Int64(environment.now().timeIntervalSince1970) else { return nil }
        let mayBeThere: Bool
        if let session = StorageSession(direct, ofBytes: lengthBytes, schemes: storageSchemes) {
            mayBeThere = try await send(upload, in: session)
        } else {
            mayBeThere = try await sendWhole(upload, to: direct)
        }
        guard mayBeThere else { return nil }
        return try await confirm(upload, uploadUUID, lengthBytes)
    }

    /// Sends all bytes in one request, which the address accepts only once.
    /// - Returns: Whether the storage may have them, even if the reply was lost: the server verifies that.
    private func sendWhole<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, to direct: DirectUpload
    ) async throws(ServerConnectionError) -> Bool {
        guard direct.form == .whole, var request = HTTPRequest(.post, atStorage: direct.url, schemes: storageSchemes)
        else { return false }
        request.headerFields[.contentType] = direct.contentType
        let exchange = HTTPExchange(
            request: request, body: .file(upload.file), idleTimeout: configuration.idleTimeout)
        do throws(TransportFailure) {
            return try await executor.execute(exchange, progress: upload.progress).response.status.kind == .successful
        } catch {
            guard error.kind != .cancelled else { throw Self.cancelledUpload }
            return !error.kind.isBeforeSending
        }
    }

    /// Sends the missing bytes to a session, which an earlier call or process may have begun. After a lost connection,
    /// resumes at the storage's position, as long as every ``RetryPolicy/maximumAttempts`` attempts make progress.
    /// - Returns: Whether the storage may have all bytes.
    private func send<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, in session: StorageSession
    ) async throws(ServerConnectionError) -> Bool {
        /// The position to resume at; nil if the storage must be asked.
        var position: Int64?
        var furthest: Int64 = 0
        var failures = 0
        var silences = 0
        var isKnown = false
        while true {
            let range = position.map { session.range(from: $0) }
            let answer = try await sendOrAsk(range, of: upload, in: session, mayBeOutOfReach: isKnown)
            var pause: Duration?
            position = nil
            silences = answer == .silent ? silences + 1 : 0
            switch answer {
            case .finished: return true
            case .refused: return false
            // A host may not know a new session yet.
            case .unknown where isKnown || failures > 0: return true
            case .unknown: break
            case .expects(let next):
                isKnown = true
                position = next
                if next > furthest {
                    (furthest, failures) = (next, 0)
                    continue
                }
                if range == nil { continue }
            case .unclear(let retryAfter): pause = retryAfter
            // As with the server, retries once, perhaps on another connection.
            case .silent where silences > 1: return false
            case .silent: break
            }
            failures += 1
            guard
                let delay = configuration.retryPolicy.delay(
                    afterAttempt: failures, retryAfter: pause, fraction: environment.randomFraction())
            else { return false }
            do { try await environment.sleep(delay) } catch { throw Self.cancelledUpload }
        }
    }

    /// Sends some bytes, or asks for the position.
    /// - Parameter mayBeOutOfReach: Whether to continue after a request that could not be sent.
    private func sendOrAsk<Request: PiecewiseRequest>(
        _ range: Range<Int64>?, of upload: PiecewiseUpload<Request>, in session: StorageSession, mayBeOutOfReach: Bool
    ) async throws(ServerConnectionError) -> StorageSession.Answer {
        var exchange = HTTPExchange(
            request: range.map { session.request(for: $0) } ?? session.question, idleTimeout: configuration.idleTimeout)
        var progress: (@Sendable (TransferProgress) -> Void)?
        if let range {
            let lengthBytes = session.lengthBytes
            exchange.body = range.count == lengthBytes ? .file(upload.file) : .part(of: upload.file, range)
            if let report = upload.progress {
                progress = { part in
                    report(TransferProgress(sentBytes: range.lowerBound + part.sentBytes, totalBytes: lengthBytes))
                }
            }
        }
        do throws(TransportFailure) {
            let reply = try await executor.execute(exchange, progress: progress)
            return session.answer(reply, isQuestion: range == nil, now: environment.now())
        } catch {
            guard error.kind != .cancelled else { throw Self.cancelledUpload }
            guard mayBeOutOfReach && error.kind != .fileUnreadable || !error.kind.isBeforeSending else {
                return .refused
            }
            return error.kind == .timedOut ? .silent : .unclear(retryAfter: nil)
        }
    }

    private static var cancelledUpload: ServerConnectionError {
        ServerConnectionError(.cancelled, endpoint: .appendToUpload, isRetryable: true)
    }

    /// Reports to the server that the storage has all bytes.
    private func confirm<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, _ uploadUUID: UploadUUID, _ lengthBytes: Int64
    ) async throws(ServerConnectionError) -> Outcome<Request.Done>? {
        let request = AppendToUploadRequest(
            uploadUUID, masterVersion: upload.request.presentMasterVersion, isDirect: true)
        let call = Self.appending(request, from: lengthBytes, isLast: true, repetition: .always)
        do throws(ServerConnectionError) {
            return try await perform(call) { reply throws(ServerConnectionError) in
                upload.request.outcome(of: try reply.message(of: .appendToUpload, as: AppendToUploadResponse.self))
            }
        } catch {
            if error.serverCode == .uploadOffsetMismatch || error.serverCode == .uploadConflict { return nil }
            throw error
        }
    }
}
