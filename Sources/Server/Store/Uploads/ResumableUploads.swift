import MariaDB
public import SyncProtocol

/// An upload that can continue in another request.
public struct ResumableUpload: Equatable, Sendable {
    public var uploadUUID: UploadUUID
    /// The parameters of UploadFile, as a query.
    public var request: String
    public var lengthBytes: Int64
    public var progress: UploadProgress
    /// Where the bytes go; `nil` until the first have arrived.
    public var destination: UploadDestination?
    /// The object that holds all of the bytes, until it is staged, in the endpoint's encoding.
    public var content: String?
    /// The reply to UploadFile, once the upload is staged.
    public var reply: String?
    public var writer: Writer?
    public var expiresAt: WireDate
    /// When the last address expires by which a client can send the bytes directly to the storage; `nil` if the client
    /// has received none.
    public var directUntil: WireDate?

    /// When the lease of its intent ends: bytes may arrive until then.
    public var leaseEnd: WireDate { max(expiresAt, directUntil ?? expiresAt) }
}

extension ResumableUpload {
    /// The request that sends bytes, or that sent them before its process died.
    public struct Writer: Equatable, Sendable {
        /// The prefix of the names of requests whose bytes may arrive, but that have not started yet.
        private static let mark = "?"

        public let name: String
        /// Whether it has only been announced: the role that receives the bytes has not seen it yet.
        public let isAnnounced: Bool

        public init(_ name: String, isAnnounced: Bool) {
            self.name = name
            self.isAnnounced = isAnnounced
        }

        init(stored: String) {
            isAnnounced = stored.hasPrefix(Self.mark)
            name = isAnnounced ? String(stored.dropFirst()) : stored
        }

        var stored: String { isAnnounced ? Self.mark + name : name }
    }
}

/// The progress of an upload.
public struct UploadProgress: Equatable, Sendable {
    /// How many bytes the provider has and the hashes cover.
    public var storedBytes: Int64
    /// Whether the provider is known to have no more bytes.
    public var isCertain: Bool
    /// The intermediate state of the hashes of those bytes.
    public var hashState: [UInt8]
    /// Sealed; `nil` if the provider has no bytes yet.
    public var session: [UInt8]?

    public init(storedBytes: Int64, isCertain: Bool, hashState: [UInt8], session: [UInt8]?) {
        self.storedBytes = storedBytes
        self.isCertain = isCertain
        self.hashState = hashState
        self.session = session
    }

    /// Nothing has arrived yet, or everything must be sent again.
    public static let none = UploadProgress(storedBytes: 0, isCertain: true, hashState: [], session: nil)
}

/// The storage and the object that receive an upload.
public struct UploadDestination: Equatable, Sendable {
    public var owner: OwningUser
    public var objectName: String
    public var spareName: String?
    public var objectID: String?
    public var folderID: String?
    /// The outbox record of the upload, leased under the upload's identifier.
    public var intent: OutboxID

    public init(
        owner: OwningUser, objectName: String, spareName: String?, objectID: String?, folderID: String?,
        intent: OutboxID
    ) {
        self.owner = owner
        self.objectName = objectName
        self.spareName = spareName
        self.objectID = objectID
        self.folderID = folderID
        self.intent = intent
    }
}

extension ResumableUpload {
    static let columns: ColumnList = [
        "upload_uuid", "request", "length_bytes", "stored_bytes", "is_certain", "hash_state", "session",
        "owning_user_id", "storage_type", "object_name", "spare_name", "object_id", "folder_id", "outbox_id", "content",
        "reply", "writer", "expires_at", "direct_until",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        uploadUUID = try row.identifier("upload_uuid")
        request = try row.string("request")
        lengthBytes = try row.number("length_bytes")
        progress = UploadProgress(
            storedBytes: try row.number("stored_bytes"), isCertain: try row.flag("is_certain"),
            hashState: try row.optionalData("hash_state") ?? [], session: try row.optionalData("session"))
        if let owner = try row.optionalNumber("owning_user_id"), let intent = try row.optionalNumber("outbox_id") {
            destination = UploadDestination(
                owner: OwningUser(userID: UserID(owner), storageType: try row.word("storage_type")),
                objectName: try row.string("object_name"), spareName: try row.optionalString("spare_name"),
                objectID: try row.optionalString("object_id"), folderID: try row.optionalString("folder_id"),
                intent: OutboxID(intent))
        }
        content = try row.optionalString("content")
        reply = try row.optionalString("reply")
        writer = try row.optionalString("writer").map(Writer.init(stored:))
        expiresAt = try row.date("expires_at")
        directUntil = try row.optionalDate("direct_until")
    }
}

extension StoreSession {
    /// Begins an upload, or returns the same upload that the same device has begun before.
    /// - Parameters:
    ///   - hash: SHA-256 of the data that identifies the same upload.
    ///   - expiresAt: when a new upload expires.
    public mutating func beginUpload(
        _ uploadUUID: UploadUUID, asking request: String, hash: [UInt8], lengthBytes: Int64, by userID: UserID,
        on device: DeviceUUID, until expiresAt: WireDate, at now: WireDate
    ) throws(StoreError) -> ResumableUpload {
        // An expired upload would be returned again until the jobs role removes it.
        let expired: [Value] = [.int(userID.rawValue), .text(device.rawValue), .bytes(hash), .date(now)]
        try execute(
            """
            UPDATE resumable_uploads
               SET request_hash = UNHEX(SHA2(upload_uuid, 256)), writer = NULL
             WHERE user_id = ?
               AND device_uuid = ?
               AND request_hash = ?
               AND expires_at <= ?
               AND storage_type = 'S3'
               AND session IS NOT NULL
               AND outbox_id IS NOT NULL
            """, expired)
        try execute(
            "DELETE FROM resumable_uploads WHERE user_id = ? AND device_uuid = ? AND request_hash = ? AND expires_at <= ?",
            expired)
        try execute(
            """
            INSERT INTO resumable_uploads
                   (upload_uuid, user_id, device_uuid, request, request_hash, length_bytes, stored_bytes, is_certain,
                    hash_state, created_at, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, 0, TRUE, '', ?, ?)
                ON DUPLICATE KEY UPDATE request = VALUES(request)
            """,
            [
                .text(uploadUUID.rawValue), .int(userID.rawValue), .text(device.rawValue), .text(request), .bytes(hash),
                .int(lengthBytes), .date(now), .date(expiresAt),
            ])
        let found = try first(
            "SELECT \(ResumableUpload.columns) FROM resumable_uploads WHERE user_id = ? AND device_uuid = ? AND request_hash = ?",
            [.int(userID.rawValue), .text(device.rawValue), .bytes(hash)], ResumableUpload.init(_:))
        guard let found else { throw .corrupt(table: "resumable_uploads", column: "request_hash") }
        return found
    }

    /// An upload of a user's device, unless it has expired.
    public mutating func resumableUpload(
        _ uploadUUID: UploadUUID, of userID: UserID, on device: DeviceUUID, at now: WireDate
    ) throws(StoreError) -> ResumableUpload? {
        try first(
            "SELECT \(ResumableUpload.columns) FROM resumable_uploads WHERE upload_uuid = ? AND user_id = ? AND device_uuid = ? AND expires_at > ?",
            [.text(uploadUUID.rawValue), .int(userID.rawValue), .text(device.rawValue), .date(now)],
            ResumableUpload.init(_:))
    }

    /// How many uploads of a user have begun and are not staged.
    public mutating func resumableUploadCount(of userID: UserID, at now: WireDate) throws(StoreError) -> Int {
        try first(
            "SELECT COUNT(*) FROM resumable_uploads WHERE user_id = ? AND reply IS NULL AND expires_at > ?",
            [.int(userID.rawValue), .date(now)]
        ) { row throws(StoreError) in Int(try row.number(0)) } ?? 0
    }

    /// Takes an upload over from the request that was sending its bytes: that request can no longer record anything,
    /// and its progress is uncertain.
    /// - Returns: the upload; `nil` if it does not exist.
    public mutating func takeOver(_ uploadUUID: UploadUUID, as writer: String) throws(StoreError) -> ResumableUpload? {
        // Assignments take effect from left to right, so the certainty is that of the former writer (UPDATE, MariaDB's
        // documentation).
        try execute(
            """
            UPDATE resumable_uploads
               SET is_certain = is_certain AND (writer IS NULL OR writer LIKE '?%'), writer = ?
             WHERE upload_uuid = ?
            """, [.text(writer), .text(uploadUUID.rawValue)])
        return try first(
            "SELECT \(ResumableUpload.columns) FROM resumable_uploads WHERE upload_uuid = ?",
            [.text(uploadUUID.rawValue)], ResumableUpload.init(_:))
    }

    /// Announces that a request may send bytes, unless another request does.
    public mutating func announce(
        _ writer: ResumableUpload.Writer, of uploadUUID: UploadUUID
    ) throws(StoreError) {
        try execute(
            "UPDATE resumable_uploads SET writer = ? WHERE upload_uuid = ? AND (writer IS NULL OR writer LIKE '?%')",
            [.text(writer.stored), .text(uploadUUID.rawValue)])
    }

    /// Whether `writer` may still send bytes.
    public mutating func isWriter(_ writer: String, of uploadUUID: UploadUUID) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM resumable_uploads WHERE upload_uuid = ? AND writer = ?",
            [.text(uploadUUID.rawValue), .text(writer)]
        ) { _ in true } ?? false
    }

    /// Records that a request has finished sending bytes.
    public mutating func endWriting(to uploadUUID: UploadUUID, by writer: String) throws(StoreError) {
        try execute(
            "UPDATE resumable_uploads SET writer = NULL WHERE upload_uuid = ? AND writer = ?",
            [.text(uploadUUID.rawValue), .text(writer)])
    }

    /// Records where the bytes go, and that none have been stored.
    /// - Returns: `false` if another request has taken the upload over.
    public mutating func record(
        _ destination: UploadDestination, of uploadUUID: UploadUUID, by writer: String
    ) throws(StoreError) -> Bool {
        let columns: [Value] = [
            .int(destination.owner.userID.rawValue), .text(destination.owner.storageType.rawValue),
            .text(destination.objectName), .text(orNull: destination.spareName), .text(orNull: destination.objectID),
            .text(orNull: destination.folderID), .int(destination.intent.rawValue),
        ]
        try execute(
            """
            UPDATE resumable_uploads
               SET owning_user_id = ?, storage_type = ?, object_name = ?, spare_name = ?, object_id = ?, folder_id = ?,
                   outbox_id = ?
             WHERE upload_uuid = ?
               AND writer = ?
            """, columns + [.text(uploadUUID.rawValue), .text(writer)])
        return try record(.none, of: uploadUUID, by: writer)
    }

    /// Records the progress of an upload.
    /// - Returns: `false` if another request has taken the upload over.
    public mutating func record(
        _ progress: UploadProgress, of uploadUUID: UploadUUID, by writer: String
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE resumable_uploads
               SET stored_bytes = ?, is_certain = ?, hash_state = ?, session = ?, content = NULL
             WHERE upload_uuid = ?
               AND writer = ?
            """,
            [
                .int(progress.storedBytes), .bool(progress.isCertain), .bytes(progress.hashState),
                .bytes(orNull: progress.session), .text(uploadUUID.rawValue), .text(writer),
            ])
        return try isWriter(writer, of: uploadUUID)
    }

    /// Records that a client may send bytes directly to an address.
    /// - Parameters:
    ///   - session: what the provider's adapter needs to recognize the address, sealed; `nil` if it is not known yet.
    ///   - until: the latest expiry of the address; the lease of the intent is extended until then.
    /// - Returns: `false` if another request has taken the upload over.
    public mutating func record(
        directSession session: [UInt8]?, until: WireDate, of uploadUUID: UploadUUID, by writer: String
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE resumable_uploads
               SET session = ?, is_certain = FALSE, direct_until = ?
             WHERE upload_uuid = ?
               AND writer = ?
            """,
            [.bytes(orNull: session), .date(until), .text(uploadUUID.rawValue), .text(writer)])
        try execute(
            """
            UPDATE outbox o
              JOIN resumable_uploads r ON r.outbox_id = o.outbox_id
               SET o.available_at = GREATEST(o.available_at, ?)
             WHERE r.upload_uuid = ?
               AND o.lease_owner = ?
            """, [.date(until), .text(uploadUUID.rawValue), .text(uploadUUID.rawValue)])
        return try isWriter(writer, of: uploadUUID)
    }

    /// Records that an object holds all of the bytes.
    /// - Returns: `false` if another request has taken the upload over.
    public mutating func record(
        content: String, of uploadUUID: UploadUUID, by writer: String
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE resumable_uploads
               SET content = ?, stored_bytes = length_bytes, is_certain = TRUE, session = NULL, hash_state = ''
             WHERE upload_uuid = ?
               AND writer = ?
            """, [.text(content), .text(uploadUUID.rawValue), .text(writer)])
        return try isWriter(writer, of: uploadUUID)
    }

    /// Records the reply to an upload that is staged. Call in the transaction that stages it, or after it.
    public mutating func record(reply: String, of uploadUUID: UploadUUID) throws(StoreError) {
        try execute(
            """
            UPDATE resumable_uploads
               SET reply = ?, stored_bytes = length_bytes, content = NULL, session = NULL, outbox_id = NULL, writer = NULL
             WHERE upload_uuid = ?
            """, [.text(reply), .text(uploadUUID.rawValue)])
    }
}
