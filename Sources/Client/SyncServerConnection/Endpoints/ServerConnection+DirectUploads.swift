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

    /// Sends bytes, or asks for the position.
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
            switch error.serverCode {
            case .known(.uploadOffsetMismatch)?, .known(.uploadConflict)?: return nil
            default: throw error
            }
        }
    }
}

extension HTTPRequest {
    /// A request to an address in a user's storage. The address is itself the authorization: the request carries no
    /// credentials.
    /// - Parameter schemes: The allowed schemes.
    /// - Returns: Nil if the address is unusable.
    init?(_ method: Method, atStorage url: String, schemes: Set<String>) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, schemes.contains(scheme),
            let authority = parts.authority
        else { return nil }
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        self.init(
            method: method, scheme: scheme, authority: authority,
            path: (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query)
    }
}

/// The requests to a provider's upload session, and their replies (docs/protocol.md, section 8.29).
struct StorageSession: Sendable {
    /// The state of the session according to a reply.
    enum Answer: Sendable, Hashable {
        /// The storage has all bytes.
        case finished
        /// It waits for the bytes from this position.
        case expects(Int64)
        /// The session does not exist, perhaps because it has ended with its object.
        case unknown
        /// The position is unknown; the storage may be asked later.
        case unclear(retryAfter: Duration?)
        /// It has not answered in time.
        case silent
        /// The session accepts no bytes.
        case refused
    }

    /// Approximate size of a request with a part of the file, which is in memory while it is sent.
    private static let pieceBytes: Int64 = 16 << 20
    /// All requests to a OneDrive session must be smaller than this.
    private static let fragmentLimitBytes: Int64 = 60 << 20

    let lengthBytes: Int64
    private let form: DirectUpload.Form
    private let granularityBytes: Int64
    private let request: HTTPRequest

    /// - Returns: Nil if the address is unusable, or not that of a session.
    init?(_ direct: DirectUpload, ofBytes lengthBytes: Int64, schemes: Set<String>) {
        guard direct.form != .whole, lengthBytes > 0,
            var request = HTTPRequest(.put, atStorage: direct.url, schemes: schemes),
            1...Self.pieceBytes ~= direct.granularityBytes ?? 1
        else { return nil }
        request.headerFields[.contentType] = direct.contentType
        self.request = request
        self.lengthBytes = lengthBytes
        form = direct.form
        granularityBytes = direct.granularityBytes ?? 1
    }

    /// Asks for the position to resume at.
    var question: HTTPRequest {
        var question = request
        if form == .fragments {
            question.method = .get
            question.headerFields = [:]
        } else {
            question.headerFields[.contentRange] = "bytes */\(lengthBytes)"
        }
        return question
    }

    /// The bytes to send in one request from a position: all remaining ones, or up to a multiple of the granularity.
    func range(from position: Int64) -> Range<Int64> {
        if position == 0, form == .resumable || lengthBytes < Self.fragmentLimitBytes { return 0..<lengthBytes }
        let end = (position + Self.pieceBytes) / granularityBytes * granularityBytes
        return position..<min(end, lengthBytes)
    }

    /// The request that sends these bytes.
    func request(for range: Range<Int64>) -> HTTPRequest {
        var request = request
        request.headerFields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(lengthBytes)"
        return request
    }

    /// - Parameters:
    ///   - isQuestion: Whether it is a reply to ``question``.
    ///   - now: The current date, to interpret a date in `Retry-After`.
    func answer(_ reply: HTTPReply, isQuestion: Bool, now: Date) -> Answer {
        let status = reply.response.status.code
        switch (form, status) {
        case (.resumable, 308): return expected(reply.header(.range).map(Self.end) ?? 0)
        case (.fragments, 202): return expected(Self.firstExpected(in: reply))
        case (.fragments, 200) where isQuestion:
            let first = Self.firstExpected(in: reply)
            return first == lengthBytes ? .finished : expected(first)
        case (_, 200), (_, 201): return .finished
        case (_, 404), (_, 410): return .unknown
        // The session is at another position, or another request to it has not ended.
        case (.fragments, 409), (.fragments, 416), (_, 408), (_, 429), (_, 500...):
            let value = reply.header(.retryAfter)
            return .unclear(retryAfter: value.flatMap { RetryAfter.duration($0, now: now) })
        default: return .refused
        }
    }

    private func expected(_ position: Int64?) -> Answer {
        guard let position, 0..<lengthBytes ~= position else { return .refused }
        return .expects(position)
    }

    /// The position after `bytes=0-LAST`; nil for any other form.
    private static func end(of range: String) -> Int64? {
        let parts = range.split(separator: "-")
        guard parts.count == 2, parts[0] == "bytes=0" || parts[0] == "0", let last = Int64(parts[1]) else { return nil }
        return last.addingReportingOverflow(1).overflow ? nil : last + 1
    }

    /// The start of the first of `nextExpectedRanges`, or nil.
    private static func firstExpected(in reply: HTTPReply) -> Int64? {
        struct State: Decodable {
            var nextExpectedRanges: [String]
        }
        let state = try? JSONDecoder().decode(State.self, from: reply.body)
        return state?.nextExpectedRanges.first.flatMap { range in Int64(range.prefix { $0 != "-" }) }
    }
}
