import SyncProtocol

// Codes that occur together.
extension ErrorCode {
    /// For any endpoint: about the query as a whole, from nginx, from the database, and defects.
    static let anywhere: Set<ErrorCode> = [
        .badRequest, .malformedQuery, .endpointUnknown, .notFound, .methodNotAllowed, .bodyTooLarge, .requestTooLong,
        .misdirectedRequest, .tooManyRequests, .busy, .internal, .serverError, .notImplemented, .serverUnavailable,
        .databaseUnavailable, .maintenance, .serverTimeout, .httpVersionNotSupported,
    ]
    /// For endpoints with parameters.
    static let parameters: Set<ErrorCode> = [
        .missingParameter, .repeatedParameter, .malformedParameter, .parameterTooLong, .parameterOutOfRange,
    ]
    /// For endpoints that require signing in.
    static let signingIn: Set<ErrorCode> = [
        .missingHeader, .malformedHeader, .credentialsMissing, .signInTypeNotAllowed, .credentialsRejected,
        .tooManyFailedSignIns, .providerUnavailable, .providerPaused, .providerBusy, .providerCircuitOpen,
        .providerMisconfigured, .cloudTimeout, .quotaCodeExchangeRate, .serverNotAllowed,
        .serverAcceptsAnyPassword, .storagePermissionMissing, .storageUnusable, .storageTermsNotAccepted,
    ]
    /// For endpoints whose caller must be a user.
    static let users: Set<ErrorCode> = [
        .userUnknown, .accountRetired, .staleEpoch, .tooManyDevices, .tooManySimultaneousRequests,
    ]
    /// For endpoints that exchange tokens.
    static let exchange: Set<ErrorCode> = [.authorizationCodeRejected, .storagePermissionMissing]
    /// For endpoints that stage a change.
    static let staging: Set<ErrorCode> = [.quotaStagedChanges, .quotaStagedBytes]
    /// For endpoints that use a cloud storage.
    static let storage: Set<ErrorCode> = [
        .cloudAuthorizationRevoked, .cloudUnavailable, .cloudRateLimited, .cloudRefused, .cloudTimeout,
        .cloudQuotaExceeded, .storageTermsNotAccepted,
    ]
    /// For requests that may complete a batch of changes, and so commit it.
    static let batches: Set<ErrorCode> = [
        .batchMismatch, .fileUnknown, .fileVersionMismatch, .appMetaDataVersionMismatch, .fileInOtherGroup,
        .ownerRemoved,
    ]
}
