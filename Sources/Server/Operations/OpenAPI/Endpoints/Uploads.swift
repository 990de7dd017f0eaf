import SyncProtocol

extension EndpointDescription {
    static let uploadFile = EndpointDescription(
        summary: "Stages a new file, or a file's next version; the body is the file.",
        parameters: UploadFileRequest.parameters, isGroupUUID: true,
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

    static let uploadAppMetaData = EndpointDescription(
        summary: "Stages a change of a file's metadata.", parameters: UploadAppMetaDataRequest.parameters,
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

    static let uploadDeletion = EndpointDescription(
        summary: "Stages the deletion of a file.", parameters: UploadDeletionRequest.parameters,
        reply: Schemas.orStale(Schemas.reference("StagedAndPerhapsCommitted")),
        errors: ErrorCode.batches.union(ErrorCode.staging))

    static let getUploads = EndpointDescription(
        summary: "Lists what the caller has staged on this device.", parameters: GetUploadsRequest.parameters,
        isGroupUUID: true,
        reply: Schemas.object(["uploads": Schemas.array(of: Schemas.reference("StagedFile"))]))

    static let doneUploads = EndpointDescription(
        summary: "Commits what the caller has staged on this device, all of it or nothing.",
        parameters: DoneUploadsRequest.parameters,
        reply: Schemas.orStale(Schemas.object(["numberUploadsTransferred": Schemas.int32])),
        errors: [.fileVersionMismatch, .fileInOtherGroup, .ownerRemoved, .commitIdReused])

    static let discardUploads = EndpointDescription(
        summary: "Withdraws what the caller has staged on this device.", parameters: DiscardUploadsRequest.parameters,
        isGroupUUID: true, reply: Schemas.object(["numberUploadsDiscarded": Schemas.int32]))
}
