internal import FoundationEssentials

/// An upload session: uploaded bytes that have no path until they are committed.
struct DropboxUploadSession: Sendable {
    /// Lifetime of a session, in seconds: seven days.
    static let lifeSeconds = 604_800.0
    /// Offsets and lengths of concurrent appends are multiples of this number.
    static let concurrentBytes = 4_194_304

    let id: String
    let account: String
    let isConcurrent: Bool
    let createdAt: Date
    /// The number of stored bytes, counted from the start; without gaps unless the session is concurrent.
    var stored = 0
    /// Whether the session accepts no more bytes.
    var isClosed = false

    init(account: String, isConcurrent: Bool, at time: Date) {
        id = "pid_upload_session:" + RandomText.token(48)
        self.account = account
        self.isConcurrent = isConcurrent
        createdAt = time
    }

    /// The name of its files in the state directory.
    var file: String { "dropbox-" + id.dropFirst("pid_upload_session:".count) }

    /// The session in its stored form.
    var json: JSONValue {
        [
            "id": .string(id), "account": .string(account), "isConcurrent": .bool(isConcurrent),
            "createdAt": createdAt.json, "stored": .int(stored), "isClosed": .bool(isClosed),
        ]
    }

    /// A session from its stored form; `nil` if it is not one of Dropbox's.
    init?(json: JSONValue) {
        guard let id = json["id"]?.string, id.hasPrefix("pid_upload_session:"), let account = json["account"]?.string,
            let created = Date(json: json["createdAt"])
        else { return nil }
        self.id = id
        self.account = account
        isConcurrent = json["isConcurrent"]?.bool ?? false
        createdAt = created
        stored = json["stored"]?.int ?? 0
        isClosed = json["isClosed"]?.bool ?? false
    }
}
