import Providers
import Store
public import SyncProtocol

/// Reports the progress of a switch, and which files wait for their bytes. Reads only; may be repeated.
struct GetAccountSwitchStatusEndpoint: Endpoint {
    func respond(
        to request: GetAccountSwitchStatusRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.snapshot { session in
            let party = try SwitchParty(caller, about: request.switchId, at: context.now, &session)
            context.note(party.user)
            guard let accountSwitch = party.accountSwitch else {
                guard request.switchId == nil else { throw Refusal(.switchUnknown) }
                return .json(
                    GetAccountSwitchStatusResponse(
                        state: .none, switchId: nil, accountEpoch: party.user.accountEpoch))
            }
            let isInProgress = accountSwitch.state == .reuploading
            let count = isInProgress ? try session.awaitingCount(of: party.user.userID) : 0
            let pageSize = GetAccountSwitchStatusResponse.pageSize
            let page =
                isInProgress
                ? try session.awaitingFiles(of: party.user.userID, after: request.cursor, limit: pageSize) : []
            return .json(
                GetAccountSwitchStatusResponse(
                    state: AccountSwitchState(accountSwitch.state), switchId: accountSwitch.id,
                    accountEpoch: party.user.accountEpoch, numberAwaiting: count,
                    numberDone: max(0, (accountSwitch.filesTotal ?? 0) - count),
                    nextCursor: page.count == pageSize ? page.last?.cursor : nil, awaiting: page.map(\.file),
                    serverMove: try serverMove(of: accountSwitch.id, &session)))
        }
    }

    private func serverMove(
        of id: AccountSwitchID, _ session: inout StoreSession
    ) throws -> GetAccountSwitchStatusResponse.ServerMove? {
        guard let move = try session.accountMove(of: id) else { return nil }
        return GetAccountSwitchStatusResponse.ServerMove(
            state: ServerMoveState(move.state), numberMoved: move.filesMoved, bytesMoved: move.bytesMoved,
            numberFailed: try session.failedCount(of: id))
    }
}

extension ServerMoveState {
    fileprivate init(_ state: AccountMove.State) {
        self =
            switch state {
            case .moving: .moving
            case .done: .done
            case .failed: .failed
            case .ended: .ended
            }
    }
}

extension GetAccountSwitchStatusRequest: ServedRequest {
    typealias Handler = GetAccountSwitchStatusEndpoint
}

/// The caller of a request about a switch: somebody who signs in with the identity's active account or its proposed
/// one.
struct SwitchParty {
    let user: UserRecord
    /// The requested switch, or `nil`.
    let accountSwitch: AccountSwitch?

    /// - Parameter id: the switch; `nil` for the newest.
    /// - Throws: ``ErrorCode/userUnknown``, ``ErrorCode/accountRetired``.
    init(
        _ caller: SignedInPerson, about id: AccountSwitchID?, at now: WireDate, _ session: inout StoreSession
    ) throws {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        if let user = try session.user(accountType, providerUserID, device: nil)?.user {
            self.user = user
            let found =
                try id.map { try session.accountSwitch($0, at: now) } ?? session.newestSwitch(of: user.userID, at: now)
            accountSwitch = found.flatMap { $0.userID == user.userID ? $0 : nil }
            return
        }
        // The owner may be about to return to an account that they left.
        let proposed = try session.switchProposed(to: accountType, providerUserID, at: now)
        if let proposed, id == nil || id == proposed.id, let user = try session.user(proposed.userID) {
            self.user = user
            accountSwitch = proposed
            return
        }
        if let active = try session.activeAccountType(insteadOf: accountType, providerUserID) {
            throw Refusal.accountRetired(by: active)
        }
        throw Refusal(.userUnknown)
    }
}

/// Notifications to an identity's devices about its account, so that its owner learns of other people's actions in
/// time.
enum SwitchNotice {
    static let newDevice = "Another device has signed in with your account. If that was not you, revoke its grant."

    static func begun(to type: AccountType) -> String {
        "A device has begun to move your files to another account (\(type.rawValue)). If that was not you, cancel it."
    }

    static func confirmed(to type: AccountType) -> String {
        "Your account was switched to another one (\(type.rawValue)). If that was you, sign in with it on this device."
    }

    static func undone(to type: AccountType) -> String {
        "The switch of your account was undone. Sign in with the former one (\(type.rawValue)) on this device."
    }
}

/// The periods that protect an account switch against somebody who has only an access token.
public struct SwitchTimes: Equatable, Sendable {
    /// The minimum age of a device's grant to begin a switch, in seconds, unless the account was proved when it was
    /// issued.
    public var minimumGrantAge: Int64
    /// How long a switch can be undone, in seconds.
    public var undoTime: Int64

    private static let daySeconds: Int64 = 86_400

    public init(minimumGrantAgeDays: Int = 7, undoDays: Int = 14) {
        minimumGrantAge = Int64(minimumGrantAgeDays) * Self.daySeconds
        undoTime = Int64(undoDays) * Self.daySeconds
    }

    /// The earliest confirmation of a switch that can still be undone.
    public func undoStart(at now: WireDate) -> WireDate {
        WireDate(secondsSince1970: now.secondsSince1970 - undoTime)
    }

    /// The time at which a switch becomes final.
    public func undoEnd(after confirmation: WireDate) -> WireDate {
        WireDate(secondsSince1970: confirmation.secondsSince1970 + undoTime)
    }
}
