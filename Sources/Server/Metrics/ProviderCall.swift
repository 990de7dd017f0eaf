public import HTTPTransport
internal import HTTPTypes

/// One request to an external service, described by the few labels under which it is counted.
public struct ProviderCall: Equatable, Sendable {
    /// What is requested.
    public enum Operation: String, Sendable, CaseIterable {
        /// Who a token belongs to, or the keys to verify that.
        case identity
        /// New tokens for an authorization code, or for the server itself.
        case token
        /// A new access token for a refresh token.
        case refresh
        /// Looking up, listing, creating folders.
        case metadata
        case download
        case upload
        case delete
        case push
    }

    /// How it ended.
    public enum Outcome: String, Sendable, CaseIterable {
        /// A status below 400.
        case ok
        /// 401 or 403.
        case denied
        /// 404 or 410.
        case missing
        /// 409, 412 or 416: the state there differs.
        case conflict
        /// Any other status of the 400s.
        case rejected
        /// 429.
        case rateLimited = "rate_limited"
        /// 507.
        case full
        /// Any other status of the 500s.
        case failed
        /// The connection could not be made, or was lost.
        case unreachable
        case timeout
        /// Not made: the provider's share of calls is used up, or it keeps failing.
        case withheld
        /// Ended by us, or not possible.
        case aborted
    }

    /// Whose service it is.
    public var provider: ServiceProvider
    public var operation: Operation

    /// Describes a request. Only the host, the first parts of the path, the method and the kind of grant count.
    public init(_ request: OutgoingRequest) {
        let address = HTTPSAddress(request.url)
        let path = address?.path ?? ""
        provider = ServiceProvider.lookUp(address?.host ?? "").provider
        operation = Self.operation(request, provider, path)
    }

    private static func operation(_ request: OutgoingRequest, _ provider: ServiceProvider, _ path: Substring)
        -> Operation
    {
        if [.apns, .fcm, .sns].contains(provider) { return .push }
        if path.hasSuffix("/token") {
            let isRefresh = (request.body?.prefix(4_096)).map { contains($0, "grant_type=refresh_token") } ?? false
            return isRefresh ? .refresh : .token
        }
        let identity = [
            "tokeninfo", "userinfo", "/keys", "/certs", "/get_current_account", "/debug_token", "/me", "/openid",
            "configuration", "/oauth/access_token",
        ]
        if provider == .facebook || provider == .apple || identity.contains(where: { path.hasSuffix($0) }) {
            return .identity
        }
        switch request.method {
        case .delete: return .delete
        case .put, .patch: return .upload
        case .get: return downloads(request.url, path) ? .download : .metadata
        default: break
        }
        if path.hasPrefix("/upload/") || path.contains("/upload") || path.contains("createUploadSession") {
            return .upload
        }
        if path.hasSuffix("/delete_v2") { return .delete }
        return path.hasSuffix("/files/download") ? .download : .metadata
    }

    private static func downloads(_ url: String, _ path: Substring) -> Bool {
        url.contains("alt=media") || path.hasSuffix("/content") || path.hasPrefix("/personal/")
    }

    private static func contains(_ bytes: ArraySlice<UInt8>, _ text: StaticString) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains("\(text)")
    }
}

extension ProviderCall.Outcome {
    /// What a reply means.
    public init(status: Int) {
        switch status {
        case ..<400: self = .ok
        case 401, 403: self = .denied
        case 404, 410: self = .missing
        case 409, 412, 416: self = .conflict
        case 429: self = .rateLimited
        case ..<500: self = .rejected
        case 507: self = .full
        default: self = .failed
        }
    }

    /// What the lack of a reply means.
    public init(_ error: TransportError) {
        switch error {
        case .notSent, .interrupted: self = .unreachable
        case .timedOut: self = .timeout
        case .withheld: self = .withheld
        case .replyTooLarge, .cancelled, .refused: self = .aborted
        }
    }
}

extension Transport {
    /// A transport that reports each request with its outcome and how long it took.
    public func measured(
        by report: @escaping @Sendable (ProviderCall, ProviderCall.Outcome, Duration) -> Void
    ) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                let start = ContinuousClock.now
                do throws(TransportError) {
                    let reply = try send(request, by: deadline)
                    report(ProviderCall(request), .init(status: reply.status), start.duration(to: .now))
                    return reply
                } catch {
                    report(ProviderCall(request), .init(error), start.duration(to: .now))
                    throw error
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                let start = ContinuousClock.now
                do throws(TransportError) {
                    let reply = try stream(request, by: deadline, head: head, body: body)
                    report(ProviderCall(request), .init(status: reply.status), start.duration(to: .now))
                    return reply
                } catch {
                    report(ProviderCall(request), .init(error), start.duration(to: .now))
                    throw error
                }
            })
    }
}
