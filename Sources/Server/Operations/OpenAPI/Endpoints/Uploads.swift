import SyncProtocol

extension UploadFileRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Stages a new file, or a file's next version; the body is the file.", isGroupUUID: true,
        reply: [
            "oneOf": [
                Schemas.object(
                    ["creationDate": Schemas.date, "updateDate": Schemas.date],
                    optional: ["committedMasterVersion": Schemas.int64]), Schemas.stale,
            ]
        ],
        body: [
            "required": true,
            "content": ["application/octet-stream": ["schema": ["type": "string", "format": "binary"]]],
        ],
        errors: ErrorCode.storage.union(ErrorCode.batches).union(ErrorCode.staging).union([
            .unknownMimeType, .bodyLengthMismatch, .lengthRequired, .checksumMismatch, .appMetaDataTooLarge,
            .mimeTypeChanged, .fileDeleted, .fileNotDeleted, .uploadConflict, .transferTooSlow, .tooManyTransfers,
        ]))
}

extension UploadAppMetaDataRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Stages a change of a file's metadata.",
        reply: Schemas.orStale(Schemas.reference("StagedAndPerhapsCommitted")),
        body: [
            "required": false,
            "description": "The metadata, if the query does not have them: for sizes that do not fit there.",
            "content": [
                "application/json": [
                    "schema": Schemas.object([
                        "version": ["type": "integer", "minimum": 0, "maximum": 2_147_483_647],
                        "contents": Schemas.text,
                    ])
                ]
            ],
        ],
        errors: ErrorCode.batches.union(ErrorCode.staging).union([
            .fileDeleted, .appMetaDataTooLarge, .bodyLengthMismatch, .uploadConflict,
        ]))
}

extension UploadDeletionRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Stages the deletion of a file.",
        reply: Schemas.orStale(Schemas.reference("StagedAndPerhapsCommitted")),
        errors: ErrorCode.batches.union(ErrorCode.staging))
}

extension GetUploadsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Lists what the caller has staged on this device.",
        isGroupUUID: true,
        reply: Schemas.object(["uploads": Schemas.array(of: Schemas.reference("StagedFile"))]))
}

extension DoneUploadsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Commits what the caller has staged on this device, all of it or nothing.",
        reply: Schemas.orStale(Schemas.object(["numberUploadsTransferred": Schemas.int32])),
        errors: [.fileVersionMismatch, .fileInOtherGroup, .ownerRemoved, .commitIdReused])
}

extension DiscardUploadsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Withdraws what the caller has staged on this device.",
        isGroupUUID: true, reply: Schemas.object(["numberUploadsDiscarded": Schemas.int32]))
}
