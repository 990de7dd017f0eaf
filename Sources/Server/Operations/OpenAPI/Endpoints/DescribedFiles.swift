import SyncProtocol

extension IndexRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Lists the caller's sharing groups, and the files of one of them.",
        reply: Schemas.object(
            ["sharingGroups": Schemas.array(of: Schemas.reference("SharingGroup"))],
            optional: [
                "masterVersion": Schemas.int64, "since": Schemas.int64,
                "fileIndex": Schemas.array(of: Schemas.reference("File")),
            ]),
        errors: [.groupUnknown],
        replyHeaders: [
            ResponseHeader.entityTag.rawValue: ["description": "Identifies this state.", "schema": Schemas.text],
            "cache-control": ["schema": Schemas.text], "vary": ["schema": Schemas.text],
            "content-encoding": [
                "description": "`gzip` if the list of files is compressed.", "schema": Schemas.text,
            ],
        ],
        requestHeaders: [
            .ifNoneMatch: "The `etag` of the state that the client has.",
            .acceptEncoding: "`gzip` permits a compressed reply.",
        ], canBeNotModified: true)
}

extension ChangesRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Waits for changes in the caller's sharing groups: server-sent events, or one reply (long polling).",
        reply: Schemas.object(
            [:],
            optional: [
                "sharingGroupUUID": Schemas.uuid, "masterVersion": Schemas.int64, "lastEventId": Schemas.text,
            ]),
        errors: [.endpointUnknown],
        replyHeaders: ["cache-control": ["schema": Schemas.text]],
        requestHeaders: [
            .accept: "`text/event-stream` for a stream of events; otherwise the reply is one signal.",
            .lastEventID: "The state that the client knows.",
        ])
}

extension DownloadFileRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Streams a file's committed version from its owner's storage.",
        reply: [
            "oneOf": [
                Schemas.object(
                    [
                        "cloudStorageType": Schemas.storageType, "checkSum": Schemas.text,
                        "contentsChanged": Schemas.bool,
                    ],
                    optional: [
                        "appMetaData": Schemas.text, "appMetaDataOmitted": Schemas.bool,
                        "directDownload": Schemas.object(["url": Schemas.text, "expires": Schemas.date]),
                    ]),
                Schemas.object(
                    [
                        "cloudStorageType": Schemas.storageType,
                        "gone": ["type": "string", "enum": ["fileRemovedOrRenamed", "authTokenExpiredOrRevoked"]],
                    ], optional: ["appMetaData": Schemas.text, "appMetaDataOmitted": Schemas.bool]), Schemas.stale,
            ]
        ],
        errors: ErrorCode.storage.union([
            .fileUnknown, .fileDeleted, .fileVersionMismatch, .appMetaDataVersionMismatch, .ownerRemoved,
            .rangeNotSatisfiable, .tooManyTransfers,
        ]),
        replyHeaders: [
            ResponseHeader.entityTag.rawValue: [
                "description": "Identifies these bytes; only if the reply has bytes.", "schema": Schemas.text,
            ],
            "accept-ranges": ["schema": Schemas.text], "cache-control": ["schema": Schemas.text],
        ],
        requestHeaders: [
            .ifNoneMatch: "The `etag` of the bytes that the client has.",
            .range: "One range of bytes; anything else is ignored.",
            .ifRange: "The `etag` of the bytes of which the client has a part.",
        ], canBeNotModified: true, canBePartial: true)
}

extension DownloadAppMetaDataRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Returns a file's metadata.",
        reply: Schemas.orStale(Schemas.object(["appMetaData": Schemas.text])),
        errors: [.fileUnknown, .appMetaDataUnknown, .fileDeleted, .appMetaDataVersionMismatch])
}

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

extension UploadSmallFilesRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Stages many small files; each has the result that UploadFile would have.", isGroupUUID: true,
        reply: Schemas.object([
            "results": Schemas.array(of: [
                "oneOf": [
                    Schemas.object([
                        "status": Schemas.int64,
                        "message": [
                            "oneOf": [
                                Schemas.object(
                                    ["creationDate": Schemas.date, "updateDate": Schemas.date],
                                    optional: ["committedMasterVersion": Schemas.int64]), Schemas.stale,
                            ]
                        ],
                    ]),
                    Schemas.object(
                        ["status": Schemas.int64, "error": Schemas.reference("Error")],
                        optional: ["retryAfter": Schemas.int64]),
                ]
            ])
        ]),
        body: [
            "required": true,
            "content": [
                "multipart/form-data": [
                    "schema": Schemas.object([
                        "files": Schemas.object([
                            "files": Schemas.array(
                                of: Schemas.object(["parameters": Schemas.text, "sizeBytes": Schemas.int64]))
                        ]),
                        "contents": Schemas.array(of: ["type": "string", "format": "binary"]),
                    ])
                ]
            ],
        ],
        errors: [
            .bodyLengthMismatch, .lengthRequired, .bodyTooLarge, .mediaTypeUnsupported, .badRequest, .transferTooSlow,
            .tooManyTransfers, .parameterOutOfRange,
        ])
}

extension CreateUploadRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Begins an upload in pieces, with the parameters of UploadFile (tus 1.0, or the IETF draft).",
        isGroupUUID: true,
        reply: [
            "oneOf": [
                Schemas.object(
                    ["uploadUUID": Schemas.uuid],
                    optional: [
                        "directUpload": Schemas.object(
                            [
                                "url": Schemas.text,
                                "form": ["type": "string", "enum": ["resumable", "whole", "fragments"]],
                                "contentType": Schemas.text, "expires": Schemas.date,
                            ], optional: ["granularityBytes": Schemas.int64])
                    ]),
                Schemas.object(
                    ["creationDate": Schemas.date, "updateDate": Schemas.date],
                    optional: ["committedMasterVersion": Schemas.int64]), Schemas.stale,
            ]
        ],
        statuses: [200, 201],
        errors: ErrorCode.storage.union(ErrorCode.batches).union(ErrorCode.staging).union([
            .unknownMimeType, .checksumMismatch, .bodyTooLarge, .appMetaDataTooLarge, .mimeTypeChanged, .fileDeleted,
            .fileNotDeleted, .uploadConflict, .protocolVersionUnsupported,
        ]),
        requestHeaders: [.uploadLength: "Total number of bytes of the upload."])
}

extension UploadOptionsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Reports the server's capabilities to tus clients.", reply: Schemas.empty, statuses: [],
        emptyStatus: 204)
}

extension GetUploadOffsetRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Returns, in a header, how many bytes of an upload need not be sent again.", reply: Schemas.empty,
        statuses: [], emptyStatus: 204,
        errors: [.uploadUnknown, .protocolVersionUnsupported])
}

extension AppendToUploadRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Sends a piece of an upload, starting at its offset; the last piece stages the file.",
        reply: [
            "oneOf": [
                Schemas.empty,
                Schemas.object(
                    ["creationDate": Schemas.date, "updateDate": Schemas.date],
                    optional: ["committedMasterVersion": Schemas.int64]), Schemas.stale,
            ]
        ],
        statuses: [200, 204],
        body: [
            "required": true,
            "content": [
                "application/offset+octet-stream": ["schema": ["type": "string", "format": "binary"]],
                "application/partial-upload": ["schema": ["type": "string", "format": "binary"]],
            ],
        ],
        errors: ErrorCode.storage.union(ErrorCode.batches).union(ErrorCode.staging).union([
            .unknownMimeType, .bodyLengthMismatch, .lengthRequired, .checksumMismatch, .bodyTooLarge, .mimeTypeChanged,
            .fileDeleted, .fileNotDeleted, .uploadConflict, .transferTooSlow, .tooManyTransfers, .uploadUnknown,
            .uploadOffsetMismatch, .uploadNotResumable, .pieceTooSmall, .pieceChecksumMismatch, .mediaTypeUnsupported,
            .protocolVersionUnsupported,
        ]),
        requestHeaders: [.uploadOffset: "The position of the body's first byte in the upload."])
}

extension AbandonUploadRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Ends an upload and deletes the bytes received so far.", reply: Schemas.empty, statuses: [],
        emptyStatus: 204, errors: [.uploadUnknown, .protocolVersionUnsupported])
}

extension UploadAppMetaDataRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Stages a change of a file's metadata.",
        reply: Schemas.orStale(Schemas.reference("StagedAndPerhapsCommitted")),
        body: [
            "required": false,
            "description": "The metadata, if they are too large for the query.",
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
        summary: "Lists the changes that the caller has staged on this device.",
        isGroupUUID: true,
        reply: Schemas.object(["uploads": Schemas.array(of: Schemas.reference("StagedFile"))]))
}

extension DoneUploadsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Commits all changes that the caller has staged on this device, or none.",
        reply: Schemas.orStale(Schemas.object(["numberUploadsTransferred": Schemas.int32])),
        errors: [.fileVersionMismatch, .fileInOtherGroup, .ownerRemoved, .commitIdReused])
}

extension DiscardUploadsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Withdraws changes that the caller has staged on this device.",
        isGroupUUID: true, reply: Schemas.object(["numberUploadsDiscarded": Schemas.int32]))
}
