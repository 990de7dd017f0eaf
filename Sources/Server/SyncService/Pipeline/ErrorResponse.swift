import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// An error as it goes to the client.
///
/// This file is the only place where an error is mapped to a protocol code, and thereby to a status.
struct ErrorResponse: Equatable {
    let code: ErrorCode
    /// A sentence for developers; never SQL, a path, a token or a provider's text.
    let message: String
    var goneReason: GoneReason?
    var allowedMethod: String?
    /// The length of the content from which a range was requested.
    var lengthOfWhole: Int64?
    /// How many bytes of an upload need not be sent again.
    var uploadOffset: Int64?
    /// The account switch that is in progress.
    var switchID: AccountSwitchID?
    /// The time from which the device's grant can be used.
    var usableFrom: WireDate?
    /// The time until which the calling device can undo the switch that retired its account.
    var undoUntil: WireDate?
    /// Sent in the header `syncserver-active-account-type`.
    var activeAccountType: AccountType?
    /// Sent in the header `Retry-After`, in whole seconds.
    private(set) var retryAfter: Duration?
    /// For 429 and 503 replies whose cause has no known duration: long enough for a database to restart.
    private static let usualPause: Duration = .seconds(5)

    var status: Int { code.status }
    var isRetryable: Bool { code.isRetryable }

    init(for error: any Error) {
        switch error {
        case let error as EndpointError: self.init(error)
        case let error as RequestError: self.init(error)
        case let error as AccountError: self.init(error)
        case let error as CloudStorageError: self.init(error)
        case let error as PushError: self.init(error)
        case let error as StoreError: self.init(error)
        case let error as CommitRefusal: self.init(error)
        case let error as SwitchRefusal: self.init(error)
        case is OwnerRemoved: self.init(EndpointError.ownerRemoved)
        case is AccountSwitched:
            self.init(code: .busy, "the owner of the storage is switching accounts", retryAfter: .seconds(1))
        default: self.init(code: .internal)
        }
    }

    private init(
        code: ErrorCode, _ message: String? = nil, gone: GoneReason? = nil, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message ?? code.sentence
        self.retryAfter = retryAfter ?? ([429, 503].contains(code.status) ? Self.usualPause : nil)
        goneReason = gone
    }

    // No switch below has a default: each new case must be handled here.

    private init(_ error: EndpointError) {
        switch error {
        case .missingParameter(let name): self.init(code: .missingParameter, "\(name.rawValue) is missing")
        case .outOfRange(let rule): self.init(code: .parameterOutOfRange, rule)
        case .missingHeader(let header): self.init(code: .missingHeader, "\(header.rawValue) is missing")
        case .malformedHeader(let header): self.init(code: .malformedHeader, "\(header.rawValue) is malformed")
        case .protocolVersionUnsupported: self.init(code: .protocolVersionUnsupported)
        case .mediaTypeUnsupported(let expected):
            self.init(code: .mediaTypeUnsupported, "the Content-Type must be \(expected)")
        case .pieceTooSmall(let minimum):
            self.init(code: .pieceTooSmall, "every piece except the last must have at least \(minimum) bytes")
        case .pieceCheckSumMismatch: self.init(code: .pieceChecksumMismatch)
        case .missingDeviceUUID: self.init(code: .missingHeader)
        case .malformedDeviceUUID: self.init(code: .malformedHeader, "SyncServer-Device-UUID must be a UUID")
        case .malformedRedirectURI:
            self.init(
                code: .malformedHeader,
                "SyncServer-redirect-uri must be http on a loopback host with a port, or an allowed URI")
        case .malformedCodeVerifier:
            self.init(code: .malformedHeader, "SyncServer-code-verifier must be 43 to 128 unreserved characters")
        case .unknownMIMEType: self.init(code: .unknownMimeType)
        case .bodyLengthMismatch: self.init(code: .bodyLengthMismatch)
        case .lengthRequired: self.init(code: .lengthRequired)
        case .bodyTooLarge(let maximum): self.init(code: .bodyTooLarge, "the body must have at most \(maximum) bytes")
        case .checkSumMismatch: self.init(code: .checksumMismatch)
        case .contentMismatch: self.init(code: .contentMismatch)
        case .transferTooSlow: self.init(code: .transferTooSlow)

        case .tooManyTransfers: self.init(code: .tooManyTransfers, retryAfter: .seconds(5))
        case .tooManySimultaneousRequests: self.init(code: .tooManySimultaneousRequests, retryAfter: .seconds(2))
        case .directionFull: self.init(code: .busy, "the server is at its transfer limit", retryAfter: .seconds(5))

        // nginx sends the same reply while one host is closed for maintenance (nginx/syncd-maintenance.conf).
        case .closedForMaintenance(let text): self.init(code: .maintenance, text, retryAfter: .seconds(120))

        case .credentialsMissing: self.init(code: .credentialsMissing)
        // nginx sends the same reply for transfers (nginx/syncd-http.conf).
        case .accessTokenMissing:
            self.init(
                code: .credentialsMissing,
                "access_token is missing although X-token-type is present: a proxy may have dropped it because of the underscore; send access-token"
            )
        case .accessTokensDiffer:
            self.init(code: .malformedHeader, "access_token and access-token are different; send one of them")
        case .signInTypeNotAllowed: self.init(code: .signInTypeNotAllowed)
        case .userUnknown: self.init(code: .userUnknown)
        case .accountRetired(let active, let end):
            self.init(code: .accountRetired)
            activeAccountType = active
            undoUntil = end
        case .malformedAccountEpoch:
            self.init(code: .malformedHeader, "SyncServer-Account-Epoch must be a number of at most 64 bits")
        case .staleEpoch: self.init(code: .staleEpoch)
        case .grantInvalid: self.init(code: .grantInvalid)
        case .grantTooYoung(let time, let delay):
            self.init(code: .grantTooYoung, retryAfter: delay)
            usableFrom = time
        case .freshSignInRequired: self.init(code: .freshSignInRequired)
        case .undoExpired: self.init(code: .undoExpired)
        case .oldAccountProofRequired: self.init(code: .oldAccountProofRequired)
        case .malformedOldAccountProof:
            self.init(
                code: .malformedHeader,
                "SyncServer-Old-Account-Proof must be a JSON object of strings, including accessToken")
        case .accountInUse: self.init(code: .accountInUse)
        case .switchInProgress(let id):
            self.init(code: .switchInProgress)
            switchID = id
        case .switchConfirmed: self.init(code: .switchConfirmed)
        case .switchUnknown: self.init(code: .switchUnknown)
        case .reuploadByOwnerOnly: self.init(code: .reuploadByOwnerOnly)
        case .tooManyFailedSignIns(let delay): self.init(code: .tooManyFailedSignIns, retryAfter: delay)
        case .storageAccountRequired: self.init(code: .storageAccountRequired)

        case .endpointUnknown: self.init(code: .endpointUnknown)
        case .methodNotAllowed(let allowed):
            self.init(code: .methodNotAllowed, "this endpoint accepts only \(allowed)")
            allowedMethod = allowed
        case .fileUnknown: self.init(code: .fileUnknown)
        case .appMetaDataUnknown: self.init(code: .appMetaDataUnknown)
        case .groupUnknown: self.init(code: .groupUnknown)
        case .invitationUnknown: self.init(code: .invitationUnknown)
        case .uploadUnknown: self.init(code: .uploadUnknown)
        case .memberUnknown: self.init(code: .memberUnknown)
        case .invitationGone: self.init(code: .invitationGone)

        case .permissionTooLow(let needed): self.init(code: .permissionTooLow, "this requires the permission \(needed)")
        case .groupExists: self.init(code: .groupExists)
        case .userExists: self.init(code: .userExists)
        case .owningAccountRequired: self.init(code: .owningAccountRequired)
        case .alreadyMember: self.init(code: .alreadyMember)
        case .ownerMissing: self.init(code: .ownerMissing)
        case .pushNotConfigured: self.init(code: .pushNotConfigured)
        case .tooManyDevices: self.init(code: .tooManyDevices)
        case .quotaReached(let quota): self.init(code: ErrorCode(quota))
        case .quotaUsedUp(let quota, let delay): self.init(code: ErrorCode(quota), retryAfter: delay)
        case .fileVersionMismatch: self.init(code: .fileVersionMismatch)
        case .appMetaDataVersionMismatch: self.init(code: .appMetaDataVersionMismatch)
        case .rangeNotSatisfiable(let length):
            self.init(code: .rangeNotSatisfiable)
            lengthOfWhole = length
        case .mimeTypeChanged: self.init(code: .mimeTypeChanged)
        case .fileDeleted: self.init(code: .fileDeleted)
        case .fileNotDeleted: self.init(code: .fileNotDeleted)
        case .fileInOtherGroup: self.init(code: .fileInOtherGroup)
        case .uploadOffsetMismatch(let current):
            self.init(code: .uploadOffsetMismatch, "the upload continues at offset \(current)")
            uploadOffset = current
        case .uploadNotResumable: self.init(code: .uploadNotResumable)
        case .uploadConflict: self.init(code: .uploadConflict)
        case .commitIDReused: self.init(code: .commitIdReused)
        case .batchMismatch: self.init(code: .batchMismatch)
        case .lastAdmin: self.init(code: .lastAdmin)
        case .notAMember: self.init(code: .notAMember, gone: .userRemoved)
        case .ownerRemoved: self.init(code: .ownerRemoved, gone: .userRemoved)
        }
    }

    private init(_ error: RequestError) {
        switch error {
        case .missing: self.init(code: .missingParameter, error.description)
        case .repeated: self.init(code: .repeatedParameter, error.description)
        case .malformed: self.init(code: .malformedParameter, error.description)
        case .outOfRange: self.init(code: .parameterOutOfRange, error.description)
        case .tooLong: self.init(code: .parameterTooLong, error.description)
        case .tooLarge: self.init(code: .appMetaDataTooLarge, error.description)
        case .brokenEscape, .invalidUTF8: self.init(code: .malformedQuery, error.description)
        case .queryTooLong: self.init(code: .requestTooLong, error.description)
        }
    }

    private init(_ error: AccountError) {
        switch error {
        case .rejected: self.init(code: .credentialsRejected)
        case .keyRejected(let text): self.init(code: .credentialsRejected, text)
        case .rightMissing(let text): self.init(code: .storagePermissionMissing, text)
        case .addressDoubtful(let error):
            let plain = ErrorResponse(error)
            self.init(
                code: plain.code,
                "the address in X-account-details is wrong, or the service there is failing",
                retryAfter: plain.retryAfter)
        case .codeRejected: self.init(code: .authorizationCodeRejected)
        case .scopeMissing: self.init(code: .storagePermissionMissing)
        case .storageMissing:
            self.init(code: .cloudRefused, "the account has no cloud storage: never set up, or not licensed")
        case .revoked: self.init(code: .credentialsRejected, "the person must sign in again")
        case .malformedDetails(let text): self.init(code: .malformedHeader, "X-account-details \(text)")
        case .serverNotAllowed: self.init(code: .serverNotAllowed)
        case .anyPasswordAccepted: self.init(code: .serverAcceptsAnyPassword)
        case .storageUnusable(.termsNotAccepted): self.init(code: .storageTermsNotAccepted)
        case .storageUnusable(.full): self.init(code: .cloudQuotaExceeded)
        case .storageUnusable(let obstacle): self.init(code: .storageUnusable, obstacle.sentence)
        case .unavailable: self.init(code: .providerUnavailable, retryAfter: .seconds(5))
        case .notAsked(let delay, _): self.init(code: .providerPaused, retryAfter: delay)
        case .withheld(let reason): self.init(reason)
        case .timedOut: self.init(code: .cloudTimeout, "the sign-in service is too slow", retryAfter: .seconds(5))
        case .misconfigured: self.init(code: .providerMisconfigured)
        }
    }

    private init(_ error: CloudStorageError) {
        switch error {
        case .authorizationRevoked: self.init(code: .cloudAuthorizationRevoked, gone: .authTokenExpiredOrRevoked)
        case .quotaExceeded: self.init(code: .cloudQuotaExceeded)
        case .rateLimited(let delay): self.init(code: .cloudRateLimited, retryAfter: delay)
        case .withheld(let reason): self.init(reason)
        case .unavailable, .contentMismatch, .notFound: self.init(code: .cloudUnavailable)
        case .timedOut: self.init(code: .cloudTimeout)
        // About the owner's storage; the caller need not be its owner.
        case .rejected, .serverNotAllowed: self.init(code: .cloudRefused)
        case .termsNotAccepted: self.init(code: .storageTermsNotAccepted)
        case .misconfigured: self.init(code: .providerMisconfigured)
        case .contentFailed(let cause), .localFailure(let cause): self.init(for: cause)
        case .downloadCancelled: self.init(code: .internal)
        }
    }

    private init(_ reason: WithheldCall) {
        switch reason {
        case .busy: self.init(code: .providerBusy, retryAfter: .seconds(1))
        case .circuitOpen(let delay): self.init(code: .providerCircuitOpen, retryAfter: delay)
        case .paused(let delay): self.init(code: .providerPaused, retryAfter: delay)
        }
    }

    private init(_ error: PushError) {
        switch error {
        case .rateLimited(let delay):
            self.init(code: .pushUnavailable, "the push service is too busy", retryAfter: delay)
        case .unavailable, .gone: self.init(code: .pushUnavailable)
        case .timedOut: self.init(code: .pushTimeout)
        case .doubtful, .misconfigured, .rejected: self.init(code: .pushRefused)
        }
    }

    private init(_ error: StoreError) {
        switch error {
        case .busy, .contention: self.init(code: .busy, retryAfter: .seconds(1))
        case .unavailable, .denied: self.init(code: .databaseUnavailable)
        // Endpoints handle an expected absence as a value; this error means that a group disappeared between two
        // statements.
        case .notFound: self.init(EndpointError.notAMember)
        case .alreadyExists, .corrupt, .defect: self.init(code: .internal)
        }
    }

    private init(_ error: CommitRefusal) {
        switch error {
        case .outdated: self.init(EndpointError.fileVersionMismatch)
        case .belongsElsewhere: self.init(EndpointError.fileInOtherGroup)
        case .ownerGone: self.init(EndpointError.ownerRemoved)
        }
    }

    private init(_ error: SwitchRefusal) {
        switch error {
        case .unknown: self.init(EndpointError.switchUnknown)
        case .staleEpoch: self.init(EndpointError.staleEpoch)
        case .accountInUse: self.init(EndpointError.accountInUse)
        case .owningAccountRequired: self.init(EndpointError.owningAccountRequired)
        case .revocationUnderWay: self.init(code: .busy, retryAfter: .seconds(5))
        }
    }
}

extension ErrorCode {
    /// The code reported to a user who has reached a quota.
    fileprivate init(_ quota: Quota) {
        self =
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
