public import SyncProtocol

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
        switch error.serverCode {
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
