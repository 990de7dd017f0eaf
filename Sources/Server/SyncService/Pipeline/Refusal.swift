import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Why a request is rejected, as the client receives it: a code of the protocol's table, and details of this request.
///
/// Endpoints throw it; where a doc comment says that a function throws ``ErrorCode/fileUnknown``, it throws a refusal
/// with that code. Errors of the layers below are translated only when the reply is written, by ``init(for:)``.
struct Refusal: Error, Equatable {
    let code: ErrorCode
    /// A sentence for developers; never SQL, a path, a token or a provider's text.
    let message: String
    /// Sent in the header `Retry-After`, in whole seconds.
    let retryAfter: Duration?
    private(set) var allowedMethod: String?
    /// The length of the content from which a range was requested.
    private(set) var lengthOfWhole: Int64?
    /// How many bytes of an upload need not be sent again.
    private(set) var uploadOffset: Int64?
    /// The account switch that is in progress.
    private(set) var switchID: AccountSwitchID?
    /// The time from which the device's grant can be used.
    private(set) var usableFrom: WireDate?
    /// The time until which the calling device can undo the switch that retired its account.
    private(set) var undoUntil: WireDate?
    /// Sent in the header `syncserver-active-account-type`.
    private(set) var activeAccountType: AccountType?

    /// - Parameters:
    ///   - message: `nil` for the sentence of the protocol's table.
    ///   - retryAfter: `nil` if unknown; 429 and 503 then have the usual pause.
    init(_ code: ErrorCode, _ message: String? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message ?? code.sentence
        self.retryAfter = retryAfter ?? Self.usualPause(after: code)
    }

    var status: Int { code.status }

    /// The reason that some replies with the status 410 contain.
    var goneReason: GoneReason? {
        switch code {
        case .notAMember, .ownerRemoved: .userRemoved
        case .cloudAuthorizationRevoked: .authTokenExpiredOrRevoked
        default: nil
        }
    }

    /// ``retryAfter`` as it is sent: rounded up, since a slightly early retry would be rejected again.
    var retryAfterSeconds: Int64? {
        retryAfter.map { delay in
            max(1, delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0))
        }
    }

    /// The refusal as a JSON object.
    /// - Parameter isProblem: whether it is sent as problem details.
    func body(requestID: String?, isProblem: Bool = false) -> ErrorBody {
        ErrorBody(
            error: message, code: code.rawValue, requestId: requestID ?? "-", retryable: code.isRetryable,
            goneReason: goneReason, switchId: switchID, usableFrom: usableFrom, undoUntil: undoUntil, status: status,
            isProblem: isProblem)
    }

    private static func usualPause(after code: ErrorCode) -> Duration? {
        switch code {
        // nginx sends the same reply while one host is closed for maintenance (nginx/syncd-maintenance.conf).
        case .maintenance, .restoring: .seconds(120)
        case .tooManySimultaneousRequests: .seconds(2)
        // Long enough for a database to restart.
        default: [429, 503].contains(code.status) ? .seconds(5) : nil
        }
    }

    /// Lets `catch Refusal(.ownerRemoved)` match every refusal with that code, whatever its details.
    static func ~= (pattern: Refusal, error: any Error) -> Bool { (error as? Refusal)?.code == pattern.code }
}

extension Refusal: CustomStringConvertible {
    var description: String { "\(code.rawValue): \(message)" }
}

// Refusals with details.
extension Refusal {
    static func missingHeader(_ header: RequestHeader) -> Refusal {
        Refusal(.missingHeader, "\(header.rawValue) is missing")
    }

    static func malformedHeader(_ header: RequestHeader) -> Refusal {
        Refusal(.malformedHeader, "\(header.rawValue) is malformed")
    }

    /// All transfers of the direction, or all of the memory for them, are taken.
    static var directionFull: Refusal { Refusal(.busy, "the server is at its transfer limit") }

    static func bodyTooLarge(maximumBytes: Int64) -> Refusal {
        Refusal(.bodyTooLarge, "the body must have at most \(maximumBytes) bytes")
    }

    static func methodNotAllowed(allowed: String) -> Refusal {
        var refusal = Refusal(.methodNotAllowed, "this endpoint accepts only \(allowed)")
        refusal.allowedMethod = allowed
        return refusal
    }

    static func rangeNotSatisfiable(length: Int64) -> Refusal {
        var refusal = Refusal(.rangeNotSatisfiable)
        refusal.lengthOfWhole = length
        return refusal
    }

    static func uploadOffsetMismatch(current: Int64) -> Refusal {
        var refusal = Refusal(.uploadOffsetMismatch, "the upload continues at offset \(current)")
        refusal.uploadOffset = current
        return refusal
    }

    /// - Parameters:
    ///   - active: the type of the account that replaced it.
    ///   - undoUntil: the time until which the calling device can undo the switch.
    static func accountRetired(by active: AccountType, undoUntil: WireDate? = nil) -> Refusal {
        var refusal = Refusal(.accountRetired)
        refusal.activeAccountType = active
        refusal.undoUntil = undoUntil
        return refusal
    }

    /// - Parameters:
    ///   - usableFrom: the time from which the grant is valid.
    ///   - delay: the wait until then.
    static func grantTooYoung(usableFrom: WireDate, in delay: Duration) -> Refusal {
        var refusal = Refusal(.grantTooYoung, retryAfter: delay)
        refusal.usableFrom = usableFrom
        return refusal
    }

    static func switchInProgress(_ id: AccountSwitchID) -> Refusal {
        var refusal = Refusal(.switchInProgress)
        refusal.switchID = id
        return refusal
    }

    /// - Parameter retryAfter: when the quota, if it is an hourly one, permits the action again.
    static func quotaReached(_ quota: Quota, retryAfter: Duration? = nil) -> Refusal {
        let code: ErrorCode =
            switch quota {
            case .devices: .tooManyDevices
            case .groups: .quotaGroups
            case .openInvitations: .quotaInvitations
            case .stagedChanges: .quotaStagedChanges
            case .stagedBytes: .quotaStagedBytes
            case .groupsPerHour: .quotaGroupRate
            case .invitationsPerHour: .quotaInvitationRate
            case .codeExchangesPerHour: .quotaCodeExchangeRate
            case .pushRegistrationsPerHour: .quotaPushRegistrationRate
            case .accountSwitchesPerHour: .quotaAccountSwitchRate
            }
        return Refusal(code, retryAfter: retryAfter)
    }
}

// Errors of the layers below.
extension Refusal {
    /// The refusal that ends a request that failed with the error.
    init(for error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let error as RequestError: self.init(of: error)
        case let error as AccountError: self.init(of: error)
        case let error as CloudStorageError: self.init(of: error)
        case let error as PushError: self.init(of: error)
        case let error as StoreError: self.init(of: error)
        case let error as CommitRefusal: self.init(of: error)
        case let error as SwitchRefusal: self.init(of: error)
        case is OwnerRemoved: self.init(.ownerRemoved)
        case is AccountSwitched:
            self.init(.busy, "the owner of the storage is switching accounts", retryAfter: .seconds(1))
        default: self.init(.internal)
        }
    }

    // No switch below has a default: each new case must be handled here.

    private init(of error: RequestError) {
        let code: ErrorCode =
            switch error {
            case .missing: .missingParameter
            case .repeated: .repeatedParameter
            case .malformed: .malformedParameter
            case .outOfRange: .parameterOutOfRange
            case .tooLong: .parameterTooLong
            case .tooLarge: .appMetaDataTooLarge
            case .brokenEscape, .invalidUTF8: .malformedQuery
            case .queryTooLong: .requestTooLong
            }
        self.init(code, error.description)
    }

    private init(of error: AccountError) {
        switch error {
        case .rejected: self.init(.credentialsRejected)
        case .keyRejected(let text): self.init(.credentialsRejected, text)
        case .rightMissing(let text): self.init(.storagePermissionMissing, text)
        case .addressDoubtful(let error):
            let plain = Refusal(of: error)
            self.init(
                plain.code,
                "the address in X-account-details is wrong, or the service there is failing",
                retryAfter: plain.retryAfter)
        case .codeRejected: self.init(.authorizationCodeRejected)
        case .scopeMissing: self.init(.storagePermissionMissing)
        case .storageMissing:
            self.init(.cloudRefused, "the account has no cloud storage: never set up, or not licensed")
        case .revoked: self.init(.credentialsRejected, "the person must sign in again")
        case .malformedDetails(let text): self.init(.malformedHeader, "X-account-details \(text)")
        case .serverNotAllowed: self.init(.serverNotAllowed)
        case .anyPasswordAccepted: self.init(.serverAcceptsAnyPassword)
        case .storageUnusable(.termsNotAccepted): self.init(.storageTermsNotAccepted)
        case .storageUnusable(.full): self.init(.cloudQuotaExceeded)
        case .storageUnusable(let obstacle): self.init(.storageUnusable, obstacle.sentence)
        case .unavailable: self.init(.providerUnavailable, retryAfter: .seconds(5))
        case .notAsked(let delay, _): self.init(.providerPaused, retryAfter: delay)
        case .withheld(let reason): self.init(of: reason)
        case .timedOut: self.init(.cloudTimeout, "the sign-in service is too slow", retryAfter: .seconds(5))
        case .misconfigured: self.init(.providerMisconfigured)
        }
    }

    private init(of error: CloudStorageError) {
        switch error {
        case .authorizationRevoked: self.init(.cloudAuthorizationRevoked)
        case .quotaExceeded: self.init(.cloudQuotaExceeded)
        case .rateLimited(let delay): self.init(.cloudRateLimited, retryAfter: delay)
        case .withheld(let reason): self.init(of: reason)
        case .unavailable, .contentMismatch, .notFound: self.init(.cloudUnavailable)
        case .timedOut: self.init(.cloudTimeout)
        // About the owner's storage; the caller need not be its owner.
        case .rejected, .serverNotAllowed: self.init(.cloudRefused)
        case .termsNotAccepted: self.init(.storageTermsNotAccepted)
        case .misconfigured: self.init(.providerMisconfigured)
        case .contentFailed(let cause), .localFailure(let cause): self.init(for: cause)
        case .downloadCancelled: self.init(.internal)
        }
    }

    private init(of reason: WithheldCall) {
        switch reason {
        case .busy: self.init(.providerBusy, retryAfter: .seconds(1))
        case .circuitOpen(let delay): self.init(.providerCircuitOpen, retryAfter: delay)
        case .paused(let delay): self.init(.providerPaused, retryAfter: delay)
        }
    }

    private init(of error: PushError) {
        switch error {
        case .rateLimited(let delay): self.init(.pushUnavailable, "the push service is too busy", retryAfter: delay)
        case .unavailable, .gone: self.init(.pushUnavailable)
        case .timedOut: self.init(.pushTimeout)
        case .doubtful, .misconfigured, .rejected: self.init(.pushRefused)
        }
    }

    private init(of error: StoreError) {
        switch error {
        case .busy, .contention: self.init(.busy, retryAfter: .seconds(1))
        case .unavailable, .denied: self.init(.databaseUnavailable)
        // Endpoints handle an expected absence as a value; this error means that a group disappeared between two
        // statements.
        case .notFound: self.init(.notAMember)
        case .alreadyExists, .corrupt, .defect: self.init(.internal)
        }
    }

    private init(of error: CommitRefusal) {
        switch error {
        case .outdated: self.init(.fileVersionMismatch)
        case .belongsElsewhere: self.init(.fileInOtherGroup)
        case .ownerGone: self.init(.ownerRemoved)
        }
    }

    private init(of error: SwitchRefusal) {
        switch error {
        case .unknown: self.init(.switchUnknown)
        case .staleEpoch: self.init(.staleEpoch)
        case .accountInUse: self.init(.accountInUse)
        case .owningAccountRequired: self.init(.owningAccountRequired)
        case .revocationUnderWay: self.init(.busy, retryAfter: .seconds(5))
        }
    }
}

extension Logger.Level {
    /// The level of a failure that the server survives: an error if it lasts until the operator acts, such as an
    /// expired client secret, or a table to which the database denies access; otherwise a warning.
    init(ofFailure error: any Error) {
        switch error {
        case AccountError.misconfigured, CloudStorageError.misconfigured: self = .error
        case PushError.misconfigured, PushError.doubtful: self = .error
        case CloudStorageError.localFailure(let cause), CloudStorageError.contentFailed(let cause):
            self.init(ofFailure: cause)
        case StoreError.denied: self = .error
        default: self = .warning
        }
    }
}
