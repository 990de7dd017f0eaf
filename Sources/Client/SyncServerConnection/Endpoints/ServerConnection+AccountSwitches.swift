public import Foundation
import HTTPTypes
public import SyncProtocol

// Switching accounts: docs/protocol.md, section 5.11. Servers of older generations support none of it
// (``ServerConnectionError/Code/notSupported``).
extension ServerConnection {
    /// Proposes to switch an identity to the account whose credentials the connection has. Nothing changes yet.
    ///
    /// The device's grant comes from ``ServerConnectionConfiguration/identity``.
    /// - Parameter oldAccount: Credentials of the account that is to be left, for people who can still use it; only some
    ///   servers ask for them. With a new authorization code in them, a device may begin a switch that has its grant for too
    ///   short a time.
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

    /// Performs a proposed switch. Repeated, as after a lost reply, the outcome is the same.
    /// - Parameter oldAccount: Credentials of the account that is left; required if the server is to move the files.
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

    /// Asks how far a switch is, for one page of the files that wait.
    public func accountSwitchStatus(
        _ request: GetAccountSwitchStatusRequest = GetAccountSwitchStatusRequest()
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<GetAccountSwitchStatusResponse> {
        try await switching { () throws(ServerConnectionError) in try await perform(request, repetition: .always) }
    }

    /// Ends a confirmed switch: what still waits is given up, as the request says.
    public func finishAccountSwitch(
        _ request: FinishAccountSwitchRequest
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<FinishAccountSwitchResponse> {
        try await switching { () throws(ServerConnectionError) in try await perform(request, repetition: .always) }
    }

    /// Withdraws a proposal. Succeeds also if it has expired.
    public func cancelAccountSwitch(
        _ switchID: AccountSwitchID
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<Void> {
        try await switching { () throws(ServerConnectionError) in
            _ = try await perform(CancelAccountSwitchRequest(switchId: switchID), repetition: .always)
        }
    }

    /// Undoes a switch away from the account whose credentials the connection has, which must include a new authorization code
    /// or a password. The device's grant comes from ``ServerConnectionConfiguration/identity``.
    public func undoAccountSwitch(
        _ request: UndoAccountSwitchRequest
    ) async throws(ServerConnectionError) -> AccountSwitchOutcome<UndoAccountSwitchResponse> {
        try await switching { () throws(ServerConnectionError) in try await perform(request, repetition: .always) }
    }

    /// Uploads again the bytes of a version that waits for them; large files in pieces, as
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

    /// Revokes the grants of a device that was lost, or with nil those of all devices but this one: those that are younger
    /// than this device's, or all of them if the credentials include a new authorization code or a password.
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
