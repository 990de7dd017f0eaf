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
    /// The account is, or was, that of an identity.
    case accountInUse
    /// The account has no storage, and the identity owns files or hosts others.
    case owningAccountRequired
    /// The device has no valid grant of the identity.
    case grantInvalid
    /// The device has its grant for too short a time; from then on it counts, once the device has signed in again.
    case grantTooYoung(usableFrom: WireDate?)
    /// The request takes a new authorization code of the account, or its password.
    case freshSignInRequired
    /// The switch can no longer be undone.
    case undoExpired
    /// A switch to another account has been begun; the server may name it.
    case inProgress(AccountSwitchID?)
    /// The server asks for credentials of the account that is to be left.
    case oldAccountProofRequired
    /// There is no such switch, or the proposal has expired.
    case unknown
    /// The switch is confirmed, and cannot be withdrawn any more.
    case confirmed
    /// The identity has switched accounts since the epoch that the request names.
    case staleEpoch

    /// The refusal that an error stands for; nil for all other errors.
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
