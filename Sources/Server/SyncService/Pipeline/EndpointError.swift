import SyncProtocol

/// Why an endpoint rejects a request; each case has one code on the wire, listed in docs/protocol.md.
enum EndpointError: Error, Equatable {
    // Errors in the request itself.
    case missingParameter(ParameterName)
    case outOfRange(String)
    case missingHeader(RequestHeader)
    case malformedHeader(RequestHeader)
    case protocolVersionUnsupported
    case mediaTypeUnsupported(expected: String)
    case pieceTooSmall(minimumBytes: Int)
    case pieceCheckSumMismatch
    case missingDeviceUUID
    case malformedDeviceUUID
    case malformedRedirectURI
    case malformedCodeVerifier
    case unknownMIMEType
    case bodyLengthMismatch
    case lengthRequired
    case bodyTooLarge(maximumBytes: Int64)
    case checkSumMismatch
    /// The bytes are not those of the stated version.
    case contentMismatch
    case transferTooSlow

    // The caller.
    case credentialsMissing
    /// The request has a token type, but no token.
    case accessTokenMissing
    /// The two spellings of the header have different values, which the web server has joined.
    case accessTokensDiffer
    case signInTypeNotAllowed
    case userUnknown
    /// With the type of the account that replaced it, and the time until which the calling device can undo the switch.
    case accountRetired(by: AccountType, undoUntil: WireDate? = nil)
    case malformedAccountEpoch
    case staleEpoch
    case grantInvalid
    /// With the time from which the grant is valid, and the wait until then.
    case grantTooYoung(usableFrom: WireDate, in: Duration)
    case freshSignInRequired
    case undoExpired
    case oldAccountProofRequired
    case malformedOldAccountProof
    case accountInUse
    case switchInProgress(AccountSwitchID)
    case switchConfirmed
    case switchUnknown
    case reuploadByOwnerOnly
    case tooManyFailedSignIns(retryAfter: Duration)
    case storageAccountRequired

    // Limits for one user, and for all users.
    case tooManyTransfers
    case tooManySimultaneousRequests
    case directionFull

    /// With the operator's announcement.
    case closedForMaintenance(String)

    // Unknown resources.
    case endpointUnknown
    case methodNotAllowed(allowed: String)
    case fileUnknown
    case appMetaDataUnknown
    case groupUnknown
    case invitationUnknown
    case memberUnknown
    case uploadUnknown
    case invitationGone

    // Conflicts with the current state.
    case permissionTooLow(needed: Permission)
    case groupExists
    case userExists
    case owningAccountRequired
    case alreadyMember
    case ownerMissing
    case pushNotConfigured
    case tooManyDevices
    case quotaReached(Quota)
    case quotaUsedUp(Quota, retryAfter: Duration)
    case fileVersionMismatch
    case appMetaDataVersionMismatch
    case rangeNotSatisfiable(length: Int64)
    case mimeTypeChanged
    case fileDeleted
    case fileNotDeleted
    case fileInOtherGroup
    case uploadConflict
    case uploadOffsetMismatch(current: Int64)
    case uploadNotResumable
    case commitIDReused
    case batchMismatch
    case lastAdmin
    case notAMember
    case ownerRemoved
}
