public import Foundation
import HTTPTypes
public import SyncProtocol

// Switching accounts: docs/protocol.md, section 5.11. Servers of older generations support none of it
// (``ServerConnectionError/Code/notSupported``).
extension ServerConnection {
    /// Proposes to switch an identity to the account of the connection's credentials. Nothing changes yet.
    ///
    /// The device's grant comes from ``ServerConnectionConfiguration/identity``.
    /// - Parameter oldAccount: Credentials of the former account, for people who can still use it; only some servers
    ///   require them. With a new authorization code, they also allow a device with a recent grant to begin a switch.
    public func beginAccountSwitch(
        _ request: BeginAccountSwitchRequest, proving oldAccount: Credentials? = nil
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<BeginAccountSwitchResponse> {
        try await switching(request, proving: oldAccount)
    }

    /// Performs a proposed switch. Idempotent: repeating it, for example after a lost reply, has the same outcome.
    /// - Parameter oldAccount: Credentials of the former account; required if the server should move the files.
    public func confirmAccountSwitch(
        _ request: ConfirmAccountSwitchRequest, proving oldAccount: Credentials? = nil
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<ConfirmAccountSwitchResponse> {
        try await switching(request, proving: oldAccount)
    }

    /// Requests the progress of a switch, with one page of the waiting files.
    public func accountSwitchStatus(
        _ request: GetAccountSwitchStatusRequest = GetAccountSwitchStatusRequest()
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<GetAccountSwitchStatusResponse> {
        try await switching(request)
    }

    /// Ends a confirmed switch, and abandons the waiting files in the way that the request specifies.
    public func finishAccountSwitch(
        _ request: FinishAccountSwitchRequest
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<FinishAccountSwitchResponse> {
        try await switching(request)
    }

    /// Withdraws a proposal. Also succeeds if it has expired.
    public func cancelAccountSwitch(
        _ switchID: AccountSwitchID
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<Void> {
        switch try await switching(CancelAccountSwitchRequest(switchId: switchID)) {
        case .success: .success(())
        case .refused(let refusal): .refused(refusal)
        }
    }

    /// Undoes a switch away from the account of the connection's credentials, which must include a new authorization
    /// code or a password. The device's grant comes from ``ServerConnectionConfiguration/identity``.
    public func undoAccountSwitch(
        _ request: UndoAccountSwitchRequest
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<UndoAccountSwitchResponse> {
        try await switching(request)
    }

    /// Uploads the bytes of a version that waits for them; sends large files in pieces, like
    /// ``uploadFile(_:from:label:progress:)`` does.
    /// - Parameters:
    ///   - file: The version's contents, which must not change meanwhile.
    ///   - progress: Called while the bytes are sent.
    /// - Throws: ``ServerConnectionError/Code/refused`` with `content_mismatch` if these are not the version's bytes,
    ///   among others.
    public func reuploadFile(
        _ request: ReuploadFileRequest, from file: URL, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServerConnectionError) -> Outcome<ReuploadFileResponse> {
        var call = Call(request, repetition: .always)
        call.body = .file(file)
        call.progress = progress
        return try await outcome { () throws(ServerConnectionError) in
            let upload = PiecewiseUpload(request: request, file: file, label: nil, progress: progress)
            if let outcome = try await uploadInPieces(upload) { return outcome }
            return .success(
                try await perform(call) { reply throws(ServerConnectionError) in
                    try reply.message(of: .reuploadFile)
                })
        }
    }

    /// Revokes the grants of a lost device, or with nil those of all other devices: only grants younger than this
    /// device's, or all of them if the credentials include a new authorization code or a password.
    @discardableResult
    public func revokeDeviceGrants(
        of device: DeviceUUID? = nil
    ) async throws(ServerConnectionError) -> RevokeDeviceGrantsResponse {
        try await perform(RevokeDeviceGrantsRequest(grantDeviceUUID: device), repetition: .always)
    }

    /// Sends a request about a switch, and turns the refusals that concern switches into outcomes.
    private func switching<Message: RequestMessage>(
        _ message: Message, proving oldAccount: Credentials? = nil
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<Message.Response> {
        var call = Call(message, repetition: .always)
        call.headers[RequestHeader.oldAccountProof.fieldName] = oldAccount?.proofText
        do throws(ServerConnectionError) {
            return .success(
                try await perform(call) { reply throws(ServerConnectionError) in
                    try reply.message(of: Message.endpoint)
                })
        } catch {
            guard let refusal = AccountSwitchRefusal(error) else { throw error }
            return .refused(refusal)
        }
    }
}

/// The outcome of a request about a switch of accounts.
public enum AccountSwitchOutcome<Value: Sendable>: Sendable {
    /// The request was carried out.
    case success(Value)
    /// The server refuses it, and nothing has changed.
    case refused(AccountSwitchRefusal)
}

extension AccountSwitchOutcome: Equatable where Value: Equatable {}

/// Why the server refuses a request about a switch of accounts.
public enum AccountSwitchRefusal: Sendable, Hashable {
    /// The account belongs, or belonged, to an identity.
    case accountInUse
    /// The account has no storage, and the identity owns files or hosts others.
    case owningAccountRequired
    /// The device has no valid grant of the identity.
    case grantInvalid
    /// The device's grant is too recent; it is usable from that time, once the device has signed in again.
    case grantTooYoung(usableFrom: WireDate?)
    /// The request requires a new authorization code of the account, or its password.
    case freshSignInRequired
    /// The switch can no longer be undone.
    case undoExpired
    /// A switch to another account is in progress; the server may identify it.
    case inProgress(AccountSwitchID?)
    /// The server requires credentials of the former account.
    case oldAccountProofRequired
    /// The switch does not exist, or the proposal has expired.
    case unknown
    /// The switch is confirmed, and can no longer be withdrawn.
    case confirmed
    /// The identity has switched accounts since the epoch that the request names.
    case staleEpoch

    /// The refusal that an error represents; nil for all other errors.
    init?(_ error: ServerConnectionError) {
        guard case .known(let code)? = error.serverCode else { return nil }
        switch code {
        case .accountInUse: self = .accountInUse
        case .owningAccountRequired: self = .owningAccountRequired
        case .grantInvalid: self = .grantInvalid
        case .grantTooYoung: self = .grantTooYoung(usableFrom: error.usableFrom)
        case .freshSignInRequired, .authorizationCodeRejected: self = .freshSignInRequired
        case .undoExpired: self = .undoExpired
        case .switchInProgress: self = .inProgress(error.accountSwitchID)
        case .oldAccountProofRequired: self = .oldAccountProofRequired
        case .switchUnknown: self = .unknown
        case .switchConfirmed: self = .confirmed
        case .staleEpoch: self = .staleEpoch
        default: return nil
        }
    }
}
