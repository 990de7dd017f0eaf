import FoundationEssentials
import SyncProtocol
import UntrustedInput

/// `FileMetadata`, as far as we use it; some routes indicate with a tag whether it is a file at all.
struct DropboxFile: Decodable, PlausibilityChecked {
    var tag: String?
    var id: String
    var name: String
    var size: Int64?
    var rev: String?
    var contentHash: String?
    /// When these contents arrived: Dropbox does not report when a file was created.
    var serverModified: String?

    private enum CodingKeys: String, CodingKey {
        case tag = ".tag"
        case id, name, size, rev
        case contentHash = "content_hash"
        case serverModified = "server_modified"
    }

    var stored: StoredObject {
        StoredObject(
            objectID: id, name: name, sizeBytes: size ?? 0, providerHash: contentHash, revision: rev,
            createdAt: serverModified.flatMap(WireDate.init(internetText:)))
    }

    var isPlausible: Bool { stored.isPlausible }
}

/// The argument of routes that take a path or an identifier.
struct DropboxPath: Encodable {
    var path: String
}

/// Reply of `delete_v2`, which describes what was deleted.
struct DropboxDeletion: Decodable {
    struct Metadata: Decodable {}

    var metadata: Metadata
}

/// Reply of `list_folder` and `list_folder/continue`.
struct DropboxFolderPage: Decodable {
    /// A file, or an entry of a kind that we ignore.
    struct Entry: Decodable {
        var file: DropboxFile?

        private enum CodingKeys: String, CodingKey { case tag = ".tag" }

        init(from decoder: any Decoder) throws {
            let tag = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .tag)
            file = tag == "file" ? try DropboxFile(from: decoder) : nil
        }
    }

    var entries: [Entry]
    var cursor: String
    var hasMore: Bool

    private enum CodingKeys: String, CodingKey {
        case entries, cursor
        case hasMore = "has_more"
    }
}

/// The argument of `list_folder/continue`.
struct DropboxCursor: Encodable {
    var cursor: String
}

/// `CommitInfo`: the destination of a file, and how to handle an existing one.
struct DropboxCommit: Encodable {
    var path: String
    let mode = "add"
    let autorename = false
    /// Suppresses notifications on the person's devices.
    let mute = true
    /// Equal contents count as written.
    let strictConflict = false

    enum CodingKeys: String, CodingKey {
        case path, mode, autorename, mute
        case strictConflict = "strict_conflict"
    }
}

/// The argument of `files/upload`: a commit with the hash of the request's bytes.
struct DropboxWholeUpload: Encodable {
    var commit: DropboxCommit
    var contentHash: String

    private enum CodingKeys: String, CodingKey {
        case contentHash = "content_hash"
    }

    func encode(to encoder: any Encoder) throws {
        try commit.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(contentHash, forKey: .contentHash)
    }
}

/// The arguments of the routes of upload sessions; each hash is that of the request's own bytes.
enum DropboxSessionArgument {
    struct Start: Encodable {
    }

    struct Cursor: Encodable {
        var sessionID: String
        var offset: Int64
        private enum CodingKeys: String, CodingKey {
            case sessionID = "session_id"
            case offset
        }
    }

    struct Append: Encodable {
        var cursor: Cursor
    }

    struct Finish: Encodable {
        var cursor: Cursor
        var commit: DropboxCommit
    }
}

/// Reply of `upload_session/start`.
struct DropboxSession: Decodable {
    var sessionID: String
    private enum CodingKeys: String, CodingKey { case sessionID = "session_id" }
}

/// JSON encoding with the settings that all of Dropbox's arguments share.
enum DropboxJSON {
    static func encode(_ value: some Encodable) throws(CloudStorageError) -> [UInt8] {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return [UInt8](try encoder.encode(value))
        } catch {
            throw .rejected(code: "cannot encode the request")
        }
    }

    /// An argument as a value of the `Dropbox-API-Arg` header: everything except printable ASCII is escaped (HTTP
    /// documentation, "JSON encoding").
    static func header(_ value: some Encodable) throws(CloudStorageError) -> String {
        var text = ""
        for unit in String(decoding: try encode(value), as: UTF8.self).utf16 {
            if (0x20..<0x7F).contains(unit) {
                text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            } else {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
