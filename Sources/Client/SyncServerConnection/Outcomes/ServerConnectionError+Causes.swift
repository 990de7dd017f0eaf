import Foundation
import HTTPTypes
import SyncProtocol

extension ServerConnectionError {
    /// The error for a request without a reply.
    init(_ failure: TransportFailure, endpoint: EndpointName) {
        let (code, isRetryable): (Code, Bool) =
            switch failure.kind {
            case .notConnected: (.notConnected, true)
            case .interrupted: (.connectionLost, true)
            case .timedOut: (.timedOut, true)
            case .cancelled: (.cancelled, true)
            case .untrusted: (.untrustedServer, false)
            case .fileUnreadable: (.fileUnreadable, false)
            case .fileUnwritable: (.fileUnwritable, false)
            case .malformed: (.invalidReply, true)
            }
        self.init(code, endpoint: endpoint, isRetryable: isRetryable, underlyingError: failure.underlying)
    }

    /// The error for a reply that is not a success.
    init(_ reply: HTTPReply, endpoint: EndpointName, now: Date) {
        let body = try? JSONDecoder().decode(ReceivedErrorBody.self, from: reply.body)
        let serverCode = reply.header(.errorCode) ?? body?.code
        let status = reply.response.status.code
        let code = Self.code(status, serverCode, endpoint)
        self.init(
            code, endpoint: endpoint, status: status, serverCode: serverCode.map(ServerErrorCode.init(rawValue:)),
            requestID: body?.requestId, isRetryable: body?.retryable ?? Self.isRetryable(status),
            retryAfter: reply.header(HTTPField.Name.retryAfter).flatMap { RetryAfter.duration($0, now: now) },
            goneReason: body?.goneReason, detail: body?.error ?? body?.detail)
        activeAccountType = reply.header(.activeAccountType).flatMap(AccountType.init(rawValue:))
        accountSwitchID = body?.switchId
        undoUntil = body?.undoUntil
        usableFrom = body?.usableFrom
        // The messages of other codes are for developers.
        if code == .serverUnavailable, serverCode.map({ $0 == ErrorCode.maintenance.rawValue }) ?? true {
            maintenanceMessage = ServiceMessage(reply)?.text
        }
    }

    /// The error for a reply that an intermediary between client and server has generated: it reveals nothing about the
    /// user, the file or the group.
    init(foreign reply: HTTPReply, endpoint: EndpointName) {
        let status = reply.response.status.code
        // 413, 414, 431: the proxy's limits; a retry of the same request would have the same size.
        self.init(
            .invalidReply, endpoint: endpoint, status: status, isRetryable: ![413, 414, 431].contains(status),
            detail: "the reply is not from a SyncServer")
    }

    /// Classifies the statuses of docs/protocol.md, section 4.1.
    private static func code(_ status: Int, _ serverCode: String?, _ endpoint: EndpointName) -> Code {
        switch status {
        case 401: .signInRequired
        // An older server supports neither the path nor this error code.
        case 404, 405:
            endpoint.isExtension && (serverCode == nil || serverCode == ServerErrorCode.endpointUnknown.rawValue)
                ? .notSupported : .refused
        case 410: .gone
        case 408, 429: .busy
        case 503: .serverUnavailable
        case 400..<500: .refused
        case 500..<600: .serverFailed
        default: .invalidReply
        }
    }

    /// For servers that do not report it: client errors are not retryable.
    private static func isRetryable(_ status: Int) -> Bool {
        switch status {
        case 408, 429: true
        case 400..<500: false
        case 507: false
        default: true
        }
    }
}

extension EndpointName {
    /// Whether the endpoint is missing from servers of older generations.
    var isExtension: Bool {
        switch self {
        case .discardUploads, .getSharingInvitations, .revokeSharingInvitation, .getSharingGroupMembers,
            .updateSharingGroupMember, .removeSharingGroupMember, .revokeDeviceGrants,
            .beginAccountSwitch, .confirmAccountSwitch, .getAccountSwitchStatus, .reuploadFile, .finishAccountSwitch,
            .cancelAccountSwitch, .undoAccountSwitch, .createUpload, .uploadOptions, .getUploadOffset, .appendToUpload,
            .abandonUpload:
            true
        default: false
        }
    }
}

extension HTTPReply {
    /// The message of a reply with the status 200.
    /// - Throws: ``ServerConnectionError/Code/invalidReply``.
    func message<Message: ResponseMessage>(
        of endpoint: EndpointName, as type: Message.Type = Message.self
    ) throws(ServerConnectionError) -> Message {
        let json: Data
        switch endpoint.route.responseKind {
        case .json: json = body
        case .header, .data: json = Data((header(.messageParams) ?? "").utf8)
        }
        do {
            return try JSONDecoder().decode(Message.self, from: json)
        } catch {
            throw ServerConnectionError(
                .invalidReply, endpoint: endpoint, status: response.status.code, isRetryable: true,
                underlyingError: error)
        }
    }

    /// Whether a reply counts as the server's, and not as that of a proxy or a network's sign-in page.
    ///
    /// Servers send their version with every reply. SyncServerII omits it from a 401, which has no body. The library
    /// accepts from any sender that the service is closed, busy or broken.
    /// - Parameter extensions: The known extensions of the server.
    func isFromServer(of extensions: ServerExtensions) -> Bool {
        guard header(.serverVersion) == nil, header(.errorCode) == nil else { return true }
        switch response.status.code {
        case 401: return extensions != .present && body.isEmpty && response.headerFields[.wwwAuthenticate] == nil
        case 408, 429, 500...: return true
        default: return false
        }
    }
}
