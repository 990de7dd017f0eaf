internal import SyncClient

// Refusals by the server: one row for each code, so that a new code does not compile without a sentence.
extension ErrorSentences {
    func refusal(_ error: SyncError) -> String {
        guard let name = error.serverCode else { return unexplained(error) }
        guard let code = ErrorCode(rawValue: name) else {
            return
                "the server refuses this for a reason unknown to this program; update it, or ask the server's "
                + "operator (\(name))"
        }
        return "\(text(code))\(Self.earliest(error)) (\(name))"
    }

    private func unexplained(_ error: SyncError) -> String {
        let status = error.status ?? 0
        let text =
            switch status {
            case 413: "larger than the server accepts; make it smaller, or leave it out"
            case 429: "the server has too many requests, from you or in total; try again later"
            case 500...599: "the server is not working at the moment; try again later"
            default: "the reply is not from a sync server; check its address, and any proxy in front of it"
            }
        return "\(text)\(Self.earliest(error)) (status \(status))"
    }

    private func text(_ code: ErrorCode) -> String {
        switch code {
        case .missingParameter, .repeatedParameter, .malformedParameter, .malformedQuery, .missingHeader,
            .malformedHeader, .badRequest, .methodNotAllowed, .lengthRequired, .protocolVersionUnsupported,
            .mediaTypeUnsupported, .rangeNotSatisfiable, .notImplemented, .httpVersionNotSupported, .batchMismatch,
            .commitIdReused, .uploadOffsetMismatch, .uploadNotResumable, .pieceTooSmall:
            "the server does not understand the request; update this program, and report it if that does not help"
        case .parameterTooLong, .requestTooLong, .parameterOutOfRange:
            "a name or a text is longer than the server accepts; shorten it"
        case .unknownMimeType:
            "the server does not accept files of this type; ask its operator to allow it, or leave the file out"
        case .bodyLengthMismatch, .transferTooSlow:
            "the transfer was interrupted, or too slow; it will be retried"
        case .checksumMismatch, .pieceChecksumMismatch: "the bytes were damaged in transit; they will be sent again"
        case .contentMismatch: "these are not the bytes that were uploaded before; restore the former contents"
        case .credentialsMissing, .credentialsRejected:
            "the server does not accept the account; sign in again: \(remedies.signIn)"
        case .signInTypeNotAllowed: "this server does not accept accounts of this kind; sign in with another kind"
        case .userUnknown: notYetUser
        case .accountRetired: "you have switched to another account; sign in with that one: \(remedies.signIn)"
        case .storageAccountRequired:
            "this invitation is for accounts that include storage; sign in with such an account"
        case .serverNotAllowed: "this server does not accept storage at that address; ask its operator"
        case .serverAcceptsAnyPassword:
            "that storage accepts any password, or shows the folder to everybody; it must require the password"
        case .storageUnusable:
            "that storage cannot store a file; check its address, the password, and your permission to write there"
        case .storageTermsNotAccepted:
            "the storage requires its owner to accept its terms; the owner can do so by signing in there in a browser"
        case .endpointUnknown: "the server is too old for this, or its address is wrong; check it, or ask its operator"
        case .notFound, .misdirectedRequest: "there is no sync server at this address; check it"
        case .fileUnknown: "the server does not know this file; synchronize, then check again"
        case .appMetaDataUnknown: "the file has no description at the server; synchronize, then check again"
        case .invitationUnknown, .invitationGone:
            "no such invitation: it was used, or it is older than a day; ask for a new one"
        case .groupUnknown:
            "the server does not know this group, or you are not in it; \(remedies.listGroups) shows yours"
        case .memberUnknown: "the group has no such member; check the list of its members"
        case .uploadUnknown: "the server has dropped a transfer that took too long; it will begin again"
        case .switchUnknown: "no such switch of accounts, or it has expired; begin it again"
        case .staleEpoch: "you have switched accounts since then; sign in with the current one: \(remedies.signIn)"
        case .grantInvalid:
            "this device cannot prove that it is yours; use one that was synchronized with the former account"
        case .grantTooYoung:
            "this device is too new here to switch accounts; use one that was synchronized before, or sign in with the "
                + "former account again in a week"
        case .freshSignInRequired:
            "the server requires a fresh sign-in for this; sign in with the account once more, then try again: "
                + remedies.signIn
        case .undoExpired: "the account was switched too long ago; ask the server's operator"
        case .accountInUse:
            "that account belongs, or once belonged, to another person on this server; sign in with your own"
        case .switchInProgress: "a switch to another account is pending; cancel it there, or wait for a day"
        case .switchConfirmed: "the switch of accounts is already confirmed; it can no longer be cancelled"
        case .oldAccountProofRequired: "this server requires proof of the former account; sign in with it as well"
        case .reuploadByOwnerOnly: "only the file's owner can upload it again; ask them to synchronize"
        case .permissionTooLow: "you are not permitted to do that in this group; ask an admin of the group"
        case .groupExists: "the server has another group with this identifier; try again"
        case .userExists: "the server already knows you; synchronize"
        case .owningAccountRequired: "this requires an account that includes storage; sign in with such an account"
        case .authorizationCodeRejected: "the sign-in took too long; sign in again: \(remedies.signIn)"
        case .storagePermissionMissing:
            "you did not allow the use of your storage; sign in again, and allow it: \(remedies.signIn)"
        case .alreadyMember: "you are already a member of this group; \(remedies.listGroups) shows yours"
        case .ownerMissing, .ownerRemoved:
            "the member whose storage held your files has left the group; ask an admin for a new invitation"
        case .pushNotConfigured: "this server does not notify devices of this kind; ask its operator"
        case .tooManyDevices: "you have as many devices as this server allows; ask its operator"
        case .quotaGroups: "you are in as many groups as this server allows; leave one first"
        case .quotaInvitations: "you have as many open invitations as this server allows; they expire after a day"
        case .quotaStagedChanges, .quotaStagedBytes:
            "the server holds too many of your unfinished changes; try again later"
        case .fileVersionMismatch, .appMetaDataVersionMismatch, .uploadConflict:
            "somebody else changed the file at the same moment; synchronize again"
        case .mimeTypeChanged:
            "a file keeps the type of its first upload; give the new contents a new name"
        case .fileDeleted: "others have deleted the file; add it again under a new name"
        case .fileNotDeleted: "the file is not deleted; synchronize, then check again"
        case .fileInOtherGroup: "the file belongs to another group; add a copy of it"
        case .lastAdmin: "the group would no longer have an admin; make another member an admin first"
        case .notAMember: "you are not, or no longer, a member of this group; ask for an invitation"
        case .cloudAuthorizationRevoked:
            "the server has lost access to the owner's storage; its owner must sign in again"
        case .bodyTooLarge: "larger than the server accepts; make it smaller, or leave it out"
        case .appMetaDataTooLarge: "the file's name and description are longer than the server accepts; shorten them"
        case .tooManyRequests, .tooManySimultaneousRequests, .tooManyTransfers, .busy:
            "the server has too many requests, from you or in total; try again later"
        case .tooManyFailedSignIns: "too many sign-ins from this network have failed; try again later"
        case .quotaGroupRate, .quotaInvitationRate, .quotaCodeExchangeRate, .quotaPushRegistrationRate,
            .quotaAccountSwitchRate:
            "you have reached the server's hourly limit for this; try again later"
        case .internal, .serverError, .serverUnavailable, .databaseUnavailable, .serverTimeout:
            "the server is not working at the moment; try again later, and ask its operator if this persists"
        case .maintenance: "the server is closed for maintenance; try again later"
        case .restoring: "the server is being restored, and nothing is lost; try again later"
        case .providerUnavailable, .providerPaused, .providerBusy, .providerCircuitOpen:
            "the account's provider is not answering at the moment; try again later"
        case .providerMisconfigured: "the account's provider refuses the server; inform the server's operator"
        case .cloudUnavailable, .cloudRateLimited, .cloudTimeout:
            "the storage is not answering at the moment; try again later"
        case .cloudRefused:
            "the owner's storage rejects it, perhaps because of its contents or its name; rename or change it, or "
                + "leave it out"
        case .cloudQuotaExceeded: "the owner's storage has no room for it; delete something there, or get more space"
        case .pushUnavailable, .pushTimeout: "the notification service is not answering; try again later"
        case .pushRefused: "the notification service rejected the request; inform the server's operator"
        }
    }
}
