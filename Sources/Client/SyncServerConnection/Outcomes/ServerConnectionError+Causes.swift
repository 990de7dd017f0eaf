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
    }

    /// Classifies the statuses of docs/protocol.md, section 4.1.
    private static func code(_ status: Int, _ serverCode: String?, _ endpoint: EndpointName) -> Code {
        switch status {
        case 401: .signInRequired
        // An older server knows neither the path nor this error code.
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

    /// For servers that do not say so: client errors are not retryable.
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
    /// Whether servers of older generations lack the endpoint.
    var isExtension: Bool {
        switch self {
        case .discardUploads, .getSharingInvitations, .revokeSharingInvitation, .getSharingGroupMembers,
            .updateSharingGroupMember, .removeSharingGroupMember, .revokeDeviceGrants,
            .beginAccountSwitch, .confirmAccountSwitch, .getAccountSwitchStatus, .reuploadFile, .finishAccountSwitch,
            .cancelAccountSwitch, .createUpload, .uploadOptions, .getUploadOffset, .appendToUpload, .abandonUpload:
            true
        default: false
        }
    }
}
