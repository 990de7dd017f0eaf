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
        var call = Call(request, repetition: .always)
        call.headers[RequestHeader.oldAccountProof.fieldName] = oldAccount?.proofText
        return try await switching { () throws(ServerConnectionError) in
            try await perform(call) { reply throws(ServerConnectionError) in
                try reply.message(of: .beginAccountSwitch)
            }
        }
    }

    /// Performs a proposed switch. Idempotent: repeating it, for example after a lost reply, has the same outcome.
    /// - Parameter oldAccount: Credentials of the former account; required if the server should move the files.
    public func confirmAccountSwitch(
        _ request: ConfirmAccountSwitchRequest, proving oldAccount: Credentials? = nil
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<ConfirmAccountSwitchResponse> {
        var call = Call(request, repetition: .always)
        call.headers[RequestHeader.oldAccountProof.fieldName] = oldAccount?.proofText
        return try await switching { () throws(ServerConnectionError) in
            try await perform(call) { reply throws(ServerConnectionError) in
                try reply.message(of: .confirmAccountSwitch)
            }
        }
    }

    /// Requests the progress of a switch, with one page of the waiting files.
    public func accountSwitchStatus(
        _ request: GetAccountSwitchStatusRequest = GetAccountSwitchStatusRequest()
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<GetAccountSwitchStatusResponse> {
        try await switching { () throws(ServerConnectionError) in try await perform(request, repetition: .always) }
    }

    /// Ends a confirmed switch, and abandons the waiting files in the way that the request specifies.
    public func finishAccountSwitch(
        _ request: FinishAccountSwitchRequest
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<FinishAccountSwitchResponse> {
        try await switching { () throws(ServerConnectionError) in try await perform(request, repetition: .always) }
    }

    /// Withdraws a proposal. Also succeeds if it has expired.
    public func cancelAccountSwitch(
        _ switchID: AccountSwitchID
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<Void> {
        try await switching { () throws(ServerConnectionError) in
            _ = try await perform(CancelAccountSwitchRequest(switchId: switchID), repetition: .always)
        }
    }

    /// Undoes a switch away from the account of the connection's credentials, which must include a new authorization
    /// code or a password. The device's grant comes from ``ServerConnectionConfiguration/identity``.
    public func undoAccountSwitch(
        _ request: UndoAccountSwitchRequest
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<UndoAccountSwitchResponse> {
        try await switching { () throws(ServerConnectionError) in try await perform(request, repetition: .always) }
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

    /// Turns the refusals that concern switches into outcomes.
    private func switching<Value: Sendable>(
        _ body: () async throws(ServerConnectionError) -> Value
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<Value> {
        do throws(ServerConnectionError) {
            return .success(try await body())
        } catch {
            guard let refusal = AccountSwitchRefusal(error) else { throw error }
            return .refused(refusal)
        }
    }
}
