import SyncProtocol

// Codes that occur together.
extension ErrorCode {
    /// On any endpoint: from the query as a whole, from nginx, from the database, and defects.
    static let anywhere: Set<ErrorCode> = [
        .badRequest, .malformedQuery, .endpointUnknown, .notFound, .methodNotAllowed, .bodyTooLarge, .requestTooLong,
        .misdirectedRequest, .tooManyRequests, .busy, .internal, .serverError, .notImplemented, .serverUnavailable,
        .databaseUnavailable, .maintenance, .serverTimeout, .httpVersionNotSupported,
    ]
    /// Where there are parameters.
    static let parameters: Set<ErrorCode> = [
        .missingParameter, .repeatedParameter, .malformedParameter, .parameterTooLong, .parameterOutOfRange,
    ]
    /// Where somebody signs in.
    static let signingIn: Set<ErrorCode> = [
        .missingHeader, .malformedHeader, .credentialsMissing, .signInTypeNotAllowed, .credentialsRejected,
        .tooManyFailedSignIns, .providerUnavailable, .providerPaused, .providerBusy, .providerCircuitOpen,
        .providerMisconfigured, .cloudTimeout, .quotaCodeExchangeRate, .serverNotAllowed,
        .serverAcceptsAnyPassword, .storagePermissionMissing, .storageUnusable, .storageTermsNotAccepted,
    ]
    /// Where the caller must be a user.
    static let users: Set<ErrorCode> = [
        .userUnknown, .accountRetired, .staleEpoch, .tooManyDevices, .tooManySimultaneousRequests,
    ]
    /// Where tokens are exchanged.
    static let exchange: Set<ErrorCode> = [.authorizationCodeRejected, .storagePermissionMissing]
    /// Where a change is staged.
    static let staging: Set<ErrorCode> = [.quotaStagedChanges, .quotaStagedBytes]
    /// Where a cloud storage is used.
    static let storage: Set<ErrorCode> = [
        .cloudAuthorizationRevoked, .cloudUnavailable, .cloudRateLimited, .cloudRefused, .cloudTimeout,
        .cloudQuotaExceeded, .storageTermsNotAccepted,
    ]
    /// Where a batch of changes may be complete, so that the request commits it.
    static let batches: Set<ErrorCode> = [
        .batchMismatch, .fileUnknown, .fileVersionMismatch, .appMetaDataVersionMismatch, .fileInOtherGroup,
        .ownerRemoved,
    ]
}
