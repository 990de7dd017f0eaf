public import FoundationEssentials
internal import Synchronization

/// The emulated providers and their control interface: processes requests into responses, without handling sockets.
///
/// Any number of threads may call ``respond(to:)`` at once. Its state is protected by one lock, which is held while
/// small metadata files are written, but never while file contents are transferred.
public final class SandboxServer: Sendable {
    /// Deliberate defects, so that a check of the sandbox can prove that it detects them.
    public enum Break: String, Sendable, CaseIterable {
        case wrongMD5 = "wrong-md5"
        case dropLastByte = "drop-last-byte"
        case acceptAnyChunk = "accept-any-chunk"
        case wrongIDToken = "wrong-id-token"
        case wrongContentHash = "wrong-content-hash"
        case acceptAnyHash = "accept-any-hash"
        case acceptAnySignature = "accept-any-signature"
        case vaguePushErrors = "vague-push-errors"
        case losePushes = "lose-pushes"
    }

    /// Delays a response; tests pass a closure that does not wait.
    public typealias Wait = @Sendable (_ milliseconds: Int) -> Void

    let directory: StateDirectory
    /// The server that the phones of the web page use, or `nil`.
    let appServer: AppServer?
    let breaks: Set<Break>
    let appleKeys: AppleKeys
    /// When each of Apple's refresh tokens was last checked.
    let appleChecks = Mutex<[String: Date]>([:])
    let microsoftKeyStore: IdentityTokenKeys
    let facebookKeys: IdentityTokenKeys
    private let state: Mutex<SandboxState>
    private let machineClock: @Sendable () -> Date
    private let wait: Wait

    /// Creates a sandbox that resumes from the state directory.
    /// - Throws: ``StorageError`` if the directory cannot be read.
    public init(
        directory: StateDirectory, breaks: Set<Break> = [], appServer: AppServer? = nil,
        clock: @escaping @Sendable () -> Date = { Date() }, wait: @escaping Wait
    ) throws(StorageError) {
        self.directory = directory
        appleKeys = AppleKeys(directory: directory)
        microsoftKeyStore = IdentityTokenKeys(
            of: .microsoft, issuer: "https://login.microsoftonline.com/{tenantid}/v2.0", directory: directory)
        facebookKeys = IdentityTokenKeys(of: .facebook, directory: directory)
        self.breaks = breaks
        self.appServer = appServer
        self.wait = wait
        machineClock = clock
        state = Mutex(try SandboxState(restoredFrom: directory))
    }

    /// Reads or changes the state. The closure must not call back into the server: the lock is not recursive.
    func withState<Result, Failure: Error>(
        _ body: (inout SandboxState) throws(Failure) -> sending Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// The providers' current time.
    var now: Date { machineClock().addingTimeInterval(withState { $0.settings.clockOffsetSeconds }) }

    /// Delays a response by this many milliseconds.
    func pause(_ milliseconds: Int) { wait(milliseconds) }

    /// Handles one request. The caller sends the response, and closes the connection if the response requires that.
    public func respond(to request: SandboxRequest) -> SandboxResponse {
        if ControlInterface.isControlHost(request.host) { return ControlInterface(server: self).respond(to: request) }
        let effect = withState { $0.faultEffect(for: request) }
        let response = respond(to: request, effect: effect)
        let time = now
        withState { state in
            state.log.append { number in
                RequestLog.Entry(
                    number: number, time: time, host: request.host, method: request.method, path: request.path,
                    query: request.redactedQuery, requestBytes: request.body.receivedBytes,
                    status: response.isCut ? 0 : response.status, responseBytes: response.contentLength,
                    fault: effect != nil)
            }
        }
        return response
    }

    private func respond(to request: SandboxRequest, effect: FaultEffect?) -> SandboxResponse {
        guard let effect else { return providerResponse(to: request, effect: FaultEffect()) }
        if effect.latencyMilliseconds > 0, !effect.isAfterEffect { wait(effect.latencyMilliseconds) }
        let hasBody = request.body.declaredLength.map { $0 > 0 } ?? false
        if hasBody { request.body.corruptAtByte = effect.corruptAtByte }
        if !effect.isAfterEffect {
            if let limit = effect.resetAfterBytes {
                guard hasBody, limit > 0 else { return .cut }
                request.body.cutAfterBytes = limit
                _ = providerResponse(to: request, effect: effect)
                return .cut
            }
            if let status = effect.status {
                guard (try? request.body.drain()) != nil else { return .cut }
                return ProviderFailure.response(status: status, to: request, effect: effect)
            }
        }
        var response = providerResponse(to: request, effect: effect)
        if effect.isAfterEffect {
            if effect.latencyMilliseconds > 0 { wait(effect.latencyMilliseconds) }
            if let status = effect.status {
                response = ProviderFailure.response(status: status, to: request, effect: effect)
            } else if effect.truncateAfterBytes == nil, effect.latencyMilliseconds == 0 {
                return .cut
            }
        }
        if !hasBody { response.corruptAtByte = effect.corruptAtByte }
        response.truncateAfterBytes = effect.truncateAfterBytes
        return response
    }

    private func providerResponse(to request: SandboxRequest, effect: FaultEffect) -> SandboxResponse {
        let response: SandboxResponse
        do {
            response = try route(request, effect: effect)
        } catch RequestBodyError.cut {
            return .cut
        } catch RequestBodyError.tooLong {
            note(request, "body-too-long", "the body is longer than this route accepts")
            response = ProviderFailure.response(status: 413, to: request, effect: FaultEffect())
        } catch {
            return SandboxResponse(500, json: ["error": .string("the sandbox failed: \(error)")])
        }
        // A client finishes sending before it reads, so an early response could be lost.
        guard (try? request.body.drain()) != nil else { return .cut }
        return response
    }

    private func route(_ request: SandboxRequest, effect: FaultEffect) throws -> SandboxResponse {
        guard request.isSecure else {
            note(request, "not-https", "the providers support only https")
            return SandboxResponse(403, json: ["error": "https is required"])
        }
        switch request.host {
        case "oauth2.googleapis.com", "accounts.google.com", "openidconnect.googleapis.com", "www.googleapis.com":
            return try GoogleRoutes(server: self, effect: effect).respond(to: request)
        case "appleid.apple.com", "account.apple.com": return try AppleRoutes(server: self).respond(to: request)
        case "graph.microsoft.com":
            return try GraphRoutes(server: self, effect: effect).respond(to: request)
        case OneDriveContentHost.name:
            return try OneDriveContentHost(server: self, effect: effect).respond(to: request)
        case "login.microsoftonline.com":
            return try MicrosoftOAuth(server: self).respond(to: request)
        case let host where DropboxRoutes.hosts.contains(host):
            return try DropboxRoutes(server: self, effect: effect).respond(to: request)
        case "graph.facebook.com":
            return try FacebookGraph(server: self).respond(to: request)
        case FacebookLimitedLogin.host:
            return try FacebookLimitedLogin(server: self).respond(to: request)
        case "api.push.apple.com", "api.sandbox.push.apple.com":
            return try APNsModel(server: self).respond(to: request)
        case "fcm.googleapis.com":
            return try FCMModel(server: self).respond(to: request)
        case NextcloudRoutes.host:
            return try NextcloudRoutes(server: self, effect: effect).respond(to: request)
        case let host where host.hasSuffix(Backend.hostSuffix):
            guard let backend = withState({ $0.backends[host] }) else { return ProviderFailure.noBackend }
            return try BackendExchange(backend: backend).respond(to: request)
        default:
            note(request, "unknown-host", "no provider of the sandbox has the host \(request.host)")
            return SandboxResponse(
                501, json: ["error": .string("the sandbox does not emulate \(request.host) yet")])
        }
    }

    /// Records that a client violated a provider's rule.
    func note(_ request: SandboxRequest, _ rule: String, _ message: String) {
        note(violation(request, rule, message))
    }

    func note(_ violation: Violation) {
        withState { state in
            if state.violations.count < 10_000 { state.violations.append(violation) }
        }
    }

    /// A violation that may have to be recorded later.
    func violation(_ request: SandboxRequest, _ rule: String, _ message: String) -> Violation {
        Violation(
            time: now, host: request.host, method: request.method, path: request.path, rule: rule, message: message)
    }
}

extension SandboxRequest {
    /// The query with secrets redacted.
    var redactedQuery: String {
        let secrets: Set<String> = [
            "access_token", "input_token", "fb_exchange_token", "client_secret", "appsecret_proof", "token", "id_token",
            "upload_id", "guid", "tempauth",
        ]
        return query.items.map { item in
            secrets.contains(item.name)
                ? item.name + "=<redacted>"
                : PercentEncoding.encode(item.name) + "=" + PercentEncoding.encode(item.value)
        }.joined(separator: "&")
    }
}
