import SyncProtocol

/// Request headers about the identity above an account.
enum IdentityHeaders {
    static let grant: [RequestHeader: String] = [.deviceGrant: "The device's grant; if sent, no other is issued."]
}

extension RevokeDeviceGrantsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Revokes the grants of one of the caller's devices, or of all except the calling one.",
        reply: Schemas.object(["numberRevoked": Schemas.int64, "numberKept": Schemas.int64]),
        errors: [.grantInvalid],
        requestHeaders: [
            .deviceGrant: "The grant of the calling device, which revokes younger grants; not needed with a new code."
        ])
}

extension BeginAccountSwitchRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Proposes to switch an identity to the account whose credentials the request contains.",
        reply: Schemas.object([
            "switchId": Schemas.uuid, "state": Schemas.switchState, "fromAccountType": Schemas.text,
            "toAccountType": Schemas.text, "reuploadRequired": Schemas.bool, "numberOfFiles": Schemas.int64,
            "approximateBytes": Schemas.int64, "hostedUsers": Schemas.array(of: Schemas.reference("Member")),
            "expiresAt": Schemas.date,
        ]),
        errors: ErrorCode.exchange.union(ErrorCode.storage).union([
            .grantInvalid, .grantTooYoung, .accountInUse, .switchInProgress, .owningAccountRequired,
            .oldAccountProofRequired,
            .staleEpoch, .quotaAccountSwitchRate,
        ]),
        requestHeaders: [
            .deviceGrant: "The grant that the identity has issued to the device.",
            .oldAccountProof: "JSON with credentials of the account that the person is leaving.",
        ])
}

extension ConfirmAccountSwitchRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Makes the proposed account the active one of its identity.",
        reply: Schemas.object(
            ["accountEpoch": Schemas.int64, "numberAwaiting": Schemas.int64],
            optional: ["movesContents": Schemas.bool]),
        errors: [
            .switchUnknown, .staleEpoch, .accountInUse, .owningAccountRequired, .oldAccountProofRequired,
        ],
        requestHeaders: [.oldAccountProof: "As for BeginAccountSwitch; required with `moveContents`."])
}

extension GetAccountSwitchStatusRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Returns the state of a switch, and the files that wait for their bytes.",
        reply: Schemas.object(
            [
                "state": Schemas.switchState, "accountEpoch": Schemas.int64, "numberAwaiting": Schemas.int64,
                "numberDone": Schemas.int64,
                "awaiting": Schemas.array(
                    of: Schemas.object(
                        [
                            "fileUUID": Schemas.uuid, "sharingGroupUUID": Schemas.identifier,
                            "fileVersion": Schemas.int32, "mimeType": Schemas.text, "owningUserId": Schemas.int64,
                        ], optional: ["fileGroupUUID": Schemas.identifier])),
            ],
            optional: [
                "switchId": Schemas.uuid, "nextCursor": Schemas.text,
                "serverMove": Schemas.object([
                    "state": ["type": "string", "enum": ["moving", "done", "failed", "ended"]],
                    "numberMoved": Schemas.int64, "bytesMoved": Schemas.int64, "numberFailed": Schemas.int64,
                ]),
            ]),
        errors: [.switchUnknown, .userUnknown, .accountRetired])
}

extension ReuploadFileRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Uploads the bytes of a version that awaits them.", isGroupUUID: true,
        reply: [
            "oneOf": [
                Schemas.object(["result": ["type": "string", "enum": ["stored", "alreadyStored", "deleted"]]]),
                Schemas.object(["result": ["const": "versionAdvanced"], "currentVersion": Schemas.int32]),
                Schemas.object(["uploadUUID": Schemas.uuid]),
            ]
        ],
        statuses: [200, 201],
        body: [
            "required": false,
            "description": "The file, byte for byte; no body with Upload-Length, which begins an upload in pieces.",
            "content": ["application/octet-stream": ["schema": ["type": "string", "format": "binary"]]],
        ],
        errors: ErrorCode.storage.union([
            .lengthRequired, .unknownMimeType, .fileUnknown, .fileVersionMismatch, .mimeTypeChanged, .uploadConflict,
            .ownerRemoved, .checksumMismatch, .contentMismatch, .bodyLengthMismatch, .transferTooSlow,
            .tooManyTransfers, .reuploadByOwnerOnly, .quotaStagedChanges, .protocolVersionUnsupported,
        ]),
        requestHeaders: [.uploadLength: "Total number of bytes of an upload in pieces."])
}

extension FinishAccountSwitchRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Finishes a switch, and gives up files that still wait for their bytes.",
        reply: Schemas.object(["accountEpoch": Schemas.int64]), errors: [.switchUnknown])
}

extension UndoAccountSwitchRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary:
            "Undoes a switch: the account whose credentials the request contains becomes active again.",
        reply: Schemas.object([
            "switchId": Schemas.uuid, "accountEpoch": Schemas.int64, "numberAwaiting": Schemas.int64,
            "movesContents": Schemas.bool,
        ]),
        errors: ErrorCode.exchange.union([
            .grantInvalid, .freshSignInRequired, .undoExpired, .accountInUse, .switchUnknown, .staleEpoch,
            .quotaAccountSwitchRate,
        ]),
        requestHeaders: [.deviceGrant: "The grant that the device had before the switch, even if since revoked."])
}

extension CancelAccountSwitchRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Withdraws a proposed switch.", reply: Schemas.empty,
        errors: [.switchUnknown, .switchConfirmed, .accountRetired])
}
