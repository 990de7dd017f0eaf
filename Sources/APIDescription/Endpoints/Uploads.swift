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
        errors: ErrorCode.storage.union(ErrorCode.batches).union([
            .unknown_mime_type, .body_length_mismatch, .length_required, .checksum_mismatch, .app_meta_data_too_large,
            .mime_type_changed, .file_deleted, .file_not_deleted, .upload_conflict,
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
        errors: ErrorCode.batches.union([
            .file_deleted, .app_meta_data_too_large, .body_length_mismatch, .upload_conflict,
        ]))

    static let uploadDeletion = EndpointDescription(
        summary: "Stages the deletion of a file.", parameters: UploadDeletionRequest.parameters,
        reply: Schemas.orStale(Schemas.reference("StagedAndPerhapsCommitted")), errors: ErrorCode.batches)

    static let getUploads = EndpointDescription(
        summary: "Lists what the caller has staged on this device.", parameters: GetUploadsRequest.parameters,
        isGroupUUID: true,
        reply: Schemas.object(["uploads": Schemas.array(of: Schemas.reference("StagedFile"))]))

    static let doneUploads = EndpointDescription(
        summary: "Commits what the caller has staged on this device, all of it or nothing.",
        parameters: DoneUploadsRequest.parameters,
        reply: Schemas.orStale(Schemas.object(["numberUploadsTransferred": Schemas.int32])),
        errors: [.file_version_mismatch, .file_in_other_group, .owner_removed, .commit_id_reused])

    static let discardUploads = EndpointDescription(
        summary: "Withdraws what the caller has staged on this device.", parameters: DiscardUploadsRequest.parameters,
        isGroupUUID: true, reply: Schemas.object(["numberUploadsDiscarded": Schemas.int32]))
}
