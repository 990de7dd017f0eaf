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
            "cache-control": ["schema": Schemas.text],
        ],
        requestHeaders: [.ifNoneMatch: "The client's state, from its `etag`."], canBeNotModified: true)
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
            .ifNoneMatch: "The client's bytes, from their `etag`.",
            .range: "One range of bytes; other values are ignored.",
            .ifRange: "The bytes of which the client has a part, from their `etag`.",
        ], canBeNotModified: true, canBePartial: true)
}

extension DownloadAppMetaDataRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Reads a file's metadata.",
        reply: Schemas.orStale(Schemas.object(["appMetaData": Schemas.text])),
        errors: [.fileUnknown, .appMetaDataUnknown, .fileDeleted, .appMetaDataVersionMismatch])
}
