import FoundationEssentials
import HTTPTransport
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
struct DropboxStartedSession: Decodable {
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

/// Dropbox's error body for statuses 401, 409 and 429, parsed by its tags.
///
/// The unions are open: an unknown tag must not cause a failure. `error_summary` has a random suffix and is ignored.
struct DropboxErrorBody: Decodable {
    /// The tags from the outermost union inwards, such as `path`, `conflict`, `file`.
    let tags: [String]
    /// With `incorrect_offset`: the session's offset.
    let correctOffset: Int64?
    /// With status 429: how long to wait.
    let retryAfterSeconds: Double?

    /// The tags joined by slashes, for logs and comparisons.
    var path: String { tags.joined(separator: "/") }

    private enum CodingKeys: String, CodingKey { case error }
    private enum RateKeys: String, CodingKey {
        case reason
        case retryAfter = "retry_after"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let node = try? container.decode(Node.self, forKey: .error) {
            tags = node.tags
            correctOffset = node.correctOffset
            retryAfterSeconds = nil
            return
        }
        // The error of a rate limit is a structure around a union, not a union.
        let rate = try container.nestedContainer(keyedBy: RateKeys.self, forKey: .error)
        tags = try rate.decode(Node.self, forKey: .reason).tags
        correctOffset = nil
        retryAfterSeconds = try rate.decodeIfPresent(Double.self, forKey: .retryAfter)
    }

    init?(_ bytes: [UInt8]) {
        guard let body = try? UntrustedJSON.decode(Self.self, from: bytes) else { return nil }
        self = body
    }

    /// The value of a union: its tag, and the value of the member of that name or of `reason`.
    private struct Node: Decodable {
        let tags: [String]
        let correctOffset: Int64?

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(_ name: String) { stringValue = name }
            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let tag = try container.decode(String.self, forKey: Key(".tag"))
            var inner = try? container.decode(Node.self, forKey: Key(tag))
            // Decodes a member only once; a second attempt would double the work at every level.
            if inner == nil, tag != "reason" { inner = try? container.decode(Node.self, forKey: Key("reason")) }
            tags = [tag] + (inner?.tags ?? [])
            correctOffset =
                inner?.correctOffset ?? (try? container.decode(Int64.self, forKey: Key("correct_offset")))
        }
    }
}

/// Classifies Dropbox's replies by the action they require (HTTP documentation, "Errors by status code").
enum DropboxVerdict {
    /// - Parameter answers: error tags, anywhere in an error's path, for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<String> = []) -> ReplyVerdict {
        if (200..<300).contains(reply.status) { return .answer }
        let error = DropboxErrorBody(reply.body)
        switch reply.status {
        case 401: return unauthorized(error)
        case 409:
            guard let error else { return .failure(.unavailable(detail: "unreadable conflict")) }
            return answers.isDisjoint(with: error.tags) ? conflict(error, reply) : .answer
        // The only verdict on a token that is plain text.
        case 400 where String(decoding: reply.body.prefix(500), as: UTF8.self).contains("access token is malformed"):
            return .tokenRejected
        case 429:
            return .throttled(after: retryAfter(reply, error), detail: "status \(reply.status) \(error?.path ?? "")")
        case 408, 500...:
            return .tryAgain(after: retryAfter(reply, error), detail: "status \(reply.status) \(error?.path ?? "")")
        case 404:
            // No route of Dropbox replies with 404, so nobody has looked for the object.
            return .failure(.unavailable(detail: "status 404 from something that is not Dropbox"))
        default: return .failure(.rejected(code: "\(reply.status) \(error?.path ?? "")"))
        }
    }

    private static func unauthorized(_ error: DropboxErrorBody?) -> ReplyVerdict {
        switch error?.tags.first {
        case "expired_access_token", "invalid_access_token": .tokenRejected
        case nil: .tokenDoubted
        // A suspended user or a missing scope: a new token would be rejected as well, and nobody has revoked anything.
        case .some: .failure(.rejected(code: "401 \(error?.path ?? "")"))
        }
    }

    private static func conflict(_ error: DropboxErrorBody, _ reply: Reply) -> ReplyVerdict {
        if error.tags.contains("too_many_write_operations") || error.tags.contains("too_many_requests") {
            return .throttled(after: retryAfter(reply, error), detail: error.path)
        }
        if error.tags.contains("insufficient_space") { return .failure(.quotaExceeded) }
        if error.tags.contains("content_hash_mismatch") { return .failure(.contentMismatch) }
        if error.tags.last == "not_found" { return .failure(.notFound) }
        return .failure(.rejected(code: "409 \(error.path)"))
    }

    /// How long to wait, according to the header or the body.
    private static func retryAfter(_ reply: Reply, _ error: DropboxErrorBody?) -> Duration? {
        // Limited to a day, like the header.
        reply.head.retryAfter
            ?? error?.retryAfterSeconds.map { min(.untrusted(seconds: $0), ReplyHead.longestRetryAfter) }
    }
}
