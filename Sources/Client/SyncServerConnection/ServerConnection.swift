import Foundation
import HTTPTypes
import Logging
public import SyncProtocol

/// A client's connection to a SyncServer: one typed function for each endpoint.
///
/// Each request is retried as far as it is safe (``RetryPolicy``), with new credentials once if the server refuses the
/// old ones; requests that are refused concurrently share one refresh. Concurrent changes by other devices produce an
/// outcome, such as ``Outcome/stale(current:)``; all other failures are a ``ServerConnectionError``.
///
/// If a server accepts requests and does not reply, calls end after a bounded time: a request without a reply is
/// repeated once, and later requests are not repeated until the server replies again. So each call, and even a whole
/// sync of the client library, ends at the latest ``RetryPolicy/baseDelay`` after twice the
/// ``ServerConnectionConfiguration/idleTimeout``: 121 s by default.
///
/// Requests run concurrently, without a limit. Cancelling the calling task ends the transfer.
public actor ServerConnection {
    /// Whether the server has extensions, as far as its replies have shown.
    public private(set) var extensions = ServerExtensions.unknown
    /// The server's version as last reported; nil before the first report.
    public private(set) var serverVersion: ServerVersion?

    let configuration: ServerConnectionConfiguration
    let executor: any HTTPExecutor
    private let credentialProvider: any CredentialProvider
    let environment: ConnectionEnvironment

    private var blockingError: ServerConnectionError?
    private var refresh: Task<Credentials, any Error>?
    /// The number of successful refreshes.
    private var refreshCount = 0
    private var hasSaidSignInRequired = false
    private var minimumClientVersion: ServerVersion?
    private var tokenSpelling = TokenSpelling.hyphenated
    /// When a request first received no reply in time; nil if the server has replied since.
    private var silentSince: ContinuousClock.Instant?
    /// The server's support for uploads in pieces, as far as known.
    var pieces = PieceSupport()

    /// Creates a connection; sends nothing yet.
    public init(
        _ configuration: ServerConnectionConfiguration, credentialProvider: any CredentialProvider,
        executor: any HTTPExecutor = PlatformExecutor(), environment: ConnectionEnvironment = .system
    ) {
        self.configuration = configuration
        self.credentialProvider = credentialProvider
        self.executor = executor
        self.environment = environment
    }

    /// Asks the server for its version, and allows requests again if the version suffices.
    /// - Throws: ``ServerConnectionError/Code/serverVersionTooOld``, and the errors of HealthCheck.
    public func checkServerVersion() async throws(ServerConnectionError) {
        blockingError = nil
        _ = try await healthCheck()
    }

    // MARK: A call

    /// One request to an endpoint, with its retry rules.
    struct Call: Sendable {
        var endpoint: EndpointName
        var query: String
        var repetition: Repetition
        var body = HTTPExchange.Body.none
        var destination: URL?
        var partial: PartialDownload?
        var idleTimeout: Duration?
        var headers = HTTPFields()
        /// Statuses other than 200 that are not errors.
        var expectedStatuses: Set<Int> = []
        var progress: (@Sendable (TransferProgress) -> Void)?
        var label: String?
        /// Receives the body of the reply while it arrives.
        var arriving: (@Sendable (Data) -> Void)?

        init(_ message: some RequestMessage, repetition: Repetition) {
            endpoint = type(of: message).endpoint
            query = message.encodedQuery(.unambiguous)
            self.repetition = repetition
        }
    }

    /// Sends a request, with appropriate retries, until `read` can turn a reply into a value.
    func perform<Value: Sendable>(
        _ call: Call, read: @Sendable (HTTPReply) async throws(ServerConnectionError) -> Value
    ) async throws(ServerConnectionError) -> Value {
        var decisions = AttemptDecisions(policy: configuration.retryPolicy, repetition: call.repetition)
        var spelling = tokenSpelling
        var hasChangedSpelling = false
        while true {
            if let blockingError { throw blockingError }
            let refreshCount = refreshCount
            let credentials = try await credentials(for: call)
            let attempt = await attempt(call, credentials, spelling, number: decisions.attempt, read: read)
            guard let error = attempt.error else {
                guard let value = attempt.value else { preconditionFailure("an attempt ends with a value or an error") }
                if let credentials {
                    tokenSpelling = spelling
                    hasSaidSignInRequired = false
                    if call.endpoint.signsIn {
                        await credentialProvider.serverAccepted(credentials, newAccessToken: attempt.newAccessToken)
                    }
                }
                return value
            }
            if credentials != nil, !hasChangedSpelling, let other = spelling.alternative(after: error) {
                // Safe for every request: the server does nothing without a token.
                (spelling, hasChangedSpelling) = (other, true)
                continue
            }
            switch decisions.decide(
                after: error, hasCredentials: credentials != nil, wasSent: attempt.wasSent,
                isSilentAgain: attempt.isSilentAgain, extensions: extensions, fraction: environment.randomFraction())
            {
            case .refreshCredentials:
                if let credentials {
                    try await replace(credentials, from: refreshCount, endpoint: call.endpoint)
                }
            case .retry(let delay):
                if call.endpoint.movesFile { configuration.observer(.transferRepeated) }
                do { try await environment.sleep(delay) } catch {
                    throw ServerConnectionError(.cancelled, endpoint: call.endpoint, isRetryable: true)
                }
            case .fail:
                throw await final(error, of: call)
            }
        }
    }

    /// Sends a request and decodes a JSON message, from the body or the header depending on the endpoint.
    func perform<Message: RequestMessage>(
        _ message: Message, repetition: Repetition
    ) async throws(ServerConnectionError) -> Message.Response {
        let endpoint = Message.endpoint
        return try await perform(Call(message, repetition: repetition)) { reply throws(ServerConnectionError) in
            try reply.message(of: endpoint)
        }
    }

    private struct Attempt<Value: Sendable>: Sendable {
        var value: Value?
        var error: ServerConnectionError?
        var wasSent = true
        /// Whether the server has not replied in time, as to an earlier request.
        var isSilentAgain = false
        var newAccessToken: Secret?
    }

    /// One attempt: request, reply, and the reply's information about the server.
    private func attempt<Value: Sendable>(
        _ call: Call, _ credentials: Credentials?, _ spelling: TokenSpelling, number: Int,
        read: @Sendable (HTTPReply) async throws(ServerConnectionError) -> Value
    ) async -> Attempt<Value> {
        guard let request = request(call, credentials, spelling) else {
            return Attempt(error: ServerConnectionError(.invalidRequest, endpoint: call.endpoint), wasSent: false)
        }
        var exchange = HTTPExchange(
            request: request, body: call.body, destination: call.destination, partial: call.partial,
            idleTimeout: call.idleTimeout ?? configuration.idleTimeout, label: call.label)
        exchange.arriving = call.arriving
        let begin = ContinuousClock.now
        let receivedBefore = call.partial?.receivedBytes ?? 0
        do throws(TransportFailure) {
            let reply = try await executor.execute(exchange, progress: call.progress)
            silentSince = nil
            do throws(ServerConnectionError) {
                try note(reply, of: call.endpoint)
                try Self.check(
                    reply, of: call.endpoint, expecting: call.expectedStatuses, extensions: extensions,
                    now: environment.now())
                let value = try await read(reply)
                log(call, number, begin, status: reply.response.status.code, error: nil)
                return Attempt(value: value, newAccessToken: reply.header(.accessToken).map(Secret.init))
            } catch {
                log(call, number, begin, status: reply.response.status.code, error: error)
                return Attempt(error: error)
            }
        } catch {
            let failure = ServerConnectionError(error, endpoint: call.endpoint)
            log(call, number, begin, status: nil, error: failure)
            if let partial = call.partial, partial.receivedBytes > receivedBefore { silentSince = nil }
            return Attempt(
                error: failure, wasSent: !error.kind.isBeforeSending,
                isSilentAgain: isSilentAgain(error.kind, since: begin))
        }
    }

    /// A connection that takes longer to fail counts as silence, like a missing reply.
    private static let quickFailure: Duration = .seconds(10)

    /// Records that a request received no reply in time.
    /// - Returns: Whether that had happened to another request before this one began. Concurrent requests do not affect
    ///   each other: they may share a dead connection, while a new connection may work.
    private func isSilentAgain(_ kind: TransportFailure.Kind, since begin: ContinuousClock.Instant) -> Bool {
        switch kind {
        case .timedOut: break
        case .notConnected where .now - begin >= Self.quickFailure: break
        default: return false
        }
        if let silentSince { return silentSince <= begin }
        silentSince = .now
        return false
    }

    /// The request without its body; nil if the base URL is not an HTTP URL.
    private func request(_ call: Call, _ credentials: Credentials?, _ spelling: TokenSpelling) -> HTTPRequest? {
        guard let parts = URLComponents(url: configuration.baseURL, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme, scheme == "https" || scheme == "http", let authority = parts.authority
        else { return nil }
        var path = parts.percentEncodedPath
        if !path.hasSuffix("/") { path += "/" }
        path += call.endpoint.resource + "/"
        if !call.query.isEmpty { path += "?" + call.query }
        var fields = call.headers
        if let partial = call.partial { for field in partial.requestHeaders { fields.append(field) } }
        fields[RequestHeader.deviceUUID.fieldName] = configuration.deviceUUID.rawValue
        credentials?.add(to: &fields, spelling)
        configuration.identity().add(to: &fields, for: call.endpoint)
        if case .file = call.body { fields[.contentType] = "application/octet-stream" }
        let method = HTTPRequest.Method(call.endpoint.route.method.rawValue) ?? .get
        return HTTPRequest(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
    }

    /// Records the information that each reply carries, regardless of its status.
    /// - Throws: ``ServerConnectionError/Code/serverVersionTooOld``.
    private func note(_ reply: HTTPReply, of endpoint: EndpointName) throws(ServerConnectionError) {
        let status = reply.response.status.code
        let version = reply.header(.serverVersion).flatMap(ServerVersion.init(rawValue:))
        serverVersion = version ?? serverVersion
        // Deployed clients ignore the version when credentials are refused or the server is closed, and older servers
        // do not always send it then. A reply without it is not from a SyncServer, and reveals nothing about one.
        if let minimum = configuration.minimumServerVersion, status != 401, status != 503,
            version.map({ $0 < minimum }) ?? (status == 200 && reply.header(.serverVersion) != nil)
        {
            let error = ServerConnectionError(
                .serverVersionTooOld, endpoint: endpoint, status: status,
                detail: "\(minimum) is required, the server has \(version?.description ?? "none")")
            blockingError = error
            throw error
        }
        if let minimum = reply.header(.minimumIOSClientAppVersion).flatMap(ServerVersion.init(rawValue:)),
            minimum != minimumClientVersion
        {
            minimumClientVersion = minimum
            configuration.observer(.minimumIOSClientAppVersion(minimum))
        }
        if reply.header(.errorCode) != nil {
            learn(.present)
        } else if endpoint == .index, status == 200 {
            learn(reply.header(.entityTag) == nil ? .absent : .present)
        }
    }

    private func learn(_ extensions: ServerExtensions) {
        guard extensions != self.extensions else { return }
        self.extensions = extensions
        configuration.observer(.extensions(extensions))
    }

    /// Throws unless the reply is a success of a SyncServer.
    /// - Parameter extensions: The known extensions of the server.
    static func check(
        _ reply: HTTPReply, of endpoint: EndpointName, expecting statuses: Set<Int> = [],
        extensions: ServerExtensions = .unknown, now: Date = Date()
    ) throws(ServerConnectionError) {
        let status = reply.response.status.code
        guard reply.isFromServer(of: extensions) else {
            throw ServerConnectionError(foreign: reply, endpoint: endpoint)
        }
        guard status == 200 || statuses.contains(status) else {
            throw ServerConnectionError(reply, endpoint: endpoint, now: now)
        }
    }

    /// The error for the caller, with the maintenance message (preferably the operator's, otherwise the reply's); also
    /// reports the corresponding events.
    private func final(_ error: ServerConnectionError, of call: Call) async -> ServerConnectionError {
        var error = error
        switch error.code {
        case .serverUnavailable:
            error.maintenanceMessage = await maintenanceMessage() ?? error.maintenanceMessage
            configuration.observer(.serverUnavailable(message: error.maintenanceMessage))
        case .signInRequired where call.endpoint != .checkCreds:
            saySignInRequired()
        default: break
        }
        return error
    }

    /// The operator's text; nil if it does not exist or cannot be fetched.
    private func maintenanceMessage() async -> String? {
        guard let url = configuration.maintenanceMessageURL,
            let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let authority = parts.authority
        else { return nil }
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        let request = HTTPRequest(
            method: .get, scheme: parts.scheme, authority: authority,
            path: (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query)
        let exchange = HTTPExchange(request: request, idleTimeout: .seconds(10))
        guard let reply = try? await executor.execute(exchange, progress: nil), reply.response.status == .ok,
            reply.body.count <= 64 << 10
        else { return nil }
        return ServiceMessage(reply)?.text
    }

    private func log(
        _ call: Call, _ attempt: Int, _ begin: ContinuousClock.Instant, status: Int?, error: ServerConnectionError?
    ) {
        let milliseconds = (ContinuousClock.now - begin) / .milliseconds(1)
        var metadata: Logger.Metadata = [
            "endpoint": "\(call.endpoint.rawValue)", "attempt": "\(attempt)", "duration_ms": "\(Int(milliseconds))",
        ]
        if let status { metadata["status"] = "\(status)" }
        guard let error else {
            configuration.logger.debug("Request succeeded", metadata: metadata)
            return
        }
        metadata["error"] = "\(error.code)"
        if let code = error.serverCode { metadata["error_code"] = "\(code.rawValue.prefix(64))" }
        if let requestID = error.requestID { metadata["request_id"] = "\(requestID.prefix(64))" }
        configuration.logger.info("Request failed", metadata: metadata)
    }

    // MARK: Credentials

    /// The credentials that the request needs; nil if none.
    private func credentials(for call: Call) async throws(ServerConnectionError) -> Credentials? {
        guard call.endpoint.route.authentication != .none else { return nil }
        guard let credentials = await credentialProvider.credentials() else {
            saySignInRequired()
            throw ServerConnectionError(.signInRequired, endpoint: call.endpoint)
        }
        return credentials
    }

    /// Waits for new credentials to replace the refused ones; all refused requests wait for the same refresh.
    /// - Parameter count: The number of refreshes at the time when the refused credentials were read.
    private func replace(
        _ refused: Credentials, from count: Int, endpoint: EndpointName
    ) async throws(ServerConnectionError) {
        guard refreshCount == count else { return }
        if refresh == nil {
            // The app may already have obtained new ones.
            guard await credentialProvider.credentials() == refused, refreshCount == count else { return }
        }
        let task = refresh ?? beginRefresh(refused)
        do {
            _ = try await task.value
        } catch {
            if error as? CredentialRefreshFailure == .unreachable {
                throw ServerConnectionError(
                    .credentialsUnavailable, endpoint: endpoint, isRetryable: true, underlyingError: error)
            }
            saySignInRequired()
            throw ServerConnectionError(.signInRequired, endpoint: endpoint, status: 401, underlyingError: error)
        }
    }

    /// Starts a refresh, which continues if its waiting callers are cancelled.
    private func beginRefresh(_ refused: Credentials) -> Task<Credentials, any Error> {
        configuration.observer(.refreshingCredentials)
        let task = Task {
            defer { refresh = nil }
            let credentials = try await credentialProvider.refresh(refused)
            refreshCount += 1
            return credentials
        }
        refresh = task
        return task
    }

    private func saySignInRequired() {
        guard !hasSaidSignInRequired else { return }
        hasSaidSignInRequired = true
        configuration.observer(.signInRequired)
    }
}

extension EndpointName {
    /// The resource of the endpoint: requests to one upload share an address, and differ by their methods.
    fileprivate var resource: String {
        switch self {
        case .getUploadOffset, .appendToUpload, .abandonUpload: "Upload"
        default: rawValue
        }
    }

    /// Whether its requests carry the bytes of files.
    fileprivate var movesFile: Bool {
        self == .uploadFile || self == .downloadFile || self == .appendToUpload || self == .reuploadFile
            || self == .uploadSmallFiles
    }

    /// Whether a success means that the server accepted the credentials for a sign-in.
    fileprivate var signsIn: Bool { self == .checkCreds || self == .addUser || self == .redeemSharingInvitation }
}
