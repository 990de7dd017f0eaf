import HTTPTransport
import OpenSSLCrypto
import SyncProtocol
import UntrustedInput

/// A file resource, limited to the fields that we request (Drive API v3, `files`).
struct DriveFile: Decodable, PlausibilityChecked {
    /// The members requested every time; Drive's default reply omits most of them.
    static let fields = "id,name,size,md5Checksum,sha256Checksum,headRevisionId,trashed,mimeType,createdTime"

    var id: String
    var name: String?
    /// A 64-bit number as a string.
    var size: String?
    var md5Checksum: String?
    /// Absent for a small share of files, mostly old ones.
    var sha256Checksum: String?
    var headRevisionId: String?
    var trashed: Bool?
    var mimeType: String?
    var createdTime: String?

    var stored: StoredObject {
        StoredObject(
            objectID: id, name: name ?? "", sizeBytes: size.flatMap { Int64($0) } ?? 0, providerHash: md5Checksum,
            revision: headRevisionId,
            sha256: sha256Checksum.flatMap { [UInt8](hexadecimal: $0) }.flatMap { $0.count == 32 ? $0 : nil },
            createdAt: createdTime.flatMap(WireDate.init(internetText:)), isInBin: trashed ?? false)
    }

    var isPlausible: Bool { (size.map { Int64($0) != nil } ?? true) && stored.isPlausible }
}

struct DriveFileList: Decodable, PlausibilityChecked {
    var files: [DriveFile]
    var nextPageToken: String?

    var isPlausible: Bool { files.allSatisfy(\.isPlausible) }
}

struct DriveGeneratedIDs: Decodable, PlausibilityChecked {
    var ids: [String]

    var isPlausible: Bool { ids.allSatisfy { $0.isIdentifier(upTo: StoredObject.maximumIdentifierLength) } }
}

/// The metadata that we send for a new file or folder.
struct DriveNewFile: Encodable {
    var id: String
    var name: String
    var mimeType: String
    var parents: [String]
}

extension DriveNewFile {
    /// The file to create by an upload to `reservation`.
    init(_ reservation: ObjectReservation, mimeType: String) throws(CloudStorageError) {
        guard let objectID = reservation.objectID, let folderID = reservation.folderID else {
            throw .rejected(code: "the reservation has no identifier")
        }
        self.init(id: objectID, name: reservation.name, mimeType: mimeType, parents: [folderID])
    }
}

/// Drive's error body; older replies have `errors`, newer ones may have only `details` and `status`.
struct DriveErrorBody: Decodable {
    struct Content: Decodable {
        var code: Int?
        var status: String?
        var errors: [Item]?
        var details: [Item]?
    }
    struct Item: Decodable {
        var reason: String?
    }

    /// The most specific error code.
    let reason: String

    private enum Member: String, CodingKey {
        case error
        case description = "error_description"
    }

    /// The OAuth routes have a text as `error`, and `tokeninfo` sometimes has only a description.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Member.self)
        if let word = try? container.decode(String.self, forKey: .error) {
            reason = word
        } else if container.contains(.error) {
            let error = try container.decode(Content.self, forKey: .error)
            reason =
                error.errors?.first?.reason ?? error.details?.lazy.compactMap(\.reason).first ?? error.status
                ?? "unknown"
        } else {
            _ = try container.decode(String.self, forKey: .description)
            reason = "invalid_token"
        }
    }
}

extension DriveErrorBody {
    /// `nil` if the reply is not Drive's own.
    init?(_ reply: Reply) {
        guard let body = try? UntrustedJSON.decode(Self.self, from: reply.body) else { return nil }
        self = body
    }
}

/// Classifies Google's replies by the action they require (Drive API, "Resolve errors"; RFC 6750, section 3.1).
enum DriveVerdict {
    /// - Parameter answers: error statuses for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<Int>) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        let error = DriveErrorBody(reply)
        let reason = error?.reason ?? "unknown"
        switch (reply.status, reason) {
        case (401, _) where error == nil: return .tokenDoubted
        // `tokeninfo` replies with 400.
        case (401, _), (403, "dailyLimitExceededUnreg"), (400, "invalid_token"):
            return .tokenRejected
        case (403, "rateLimitExceeded"), (403, "userRateLimitExceeded"), (403, "RATE_LIMIT_EXCEEDED"), (429, _):
            return .throttled(after: reply.head.retryAfter, detail: "status \(reply.status) \(reason)")
        case (408, _), (500..., _):
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) \(reason)")
        // The last three limit the number of files. A person who reaches such a limit must delete files, as when the
        // storage is full.
        case (403, "storageQuotaExceeded"), (403, "quotaExceeded"), (403, "teamDriveFileLimitExceeded"),
            (403, "numChildrenInNonRootLimitExceeded"), (403, "activeItemCreationLimitExceeded"):
            return .failure(.quotaExceeded)
        case (403, "dailyLimitExceeded"), (403, "downloadQuotaExceeded"), (403, "sharingRateLimitExceeded"):
            return .failure(.rateLimited(retryAfter: reply.head.retryAfter))
        case (404, _) where error == nil:
            // Not Drive's own reply, so nobody has looked for the object.
            return .failure(.unavailable(detail: "status 404 from something that is not Drive"))
        case (404, _), (403, "appNotAuthorizedToFile"):
            return .failure(.notFound)
        case (403, "accessNotConfigured"), (403, "SERVICE_DISABLED"):
            return .failure(.misconfigured(detail: "the Drive API is not enabled for the Google project"))
        default:
            // Includes a missing scope (`insufficientPermissions`): a new token would lack it as well, and nobody has
            // revoked the grant.
            return .failure(.rejected(code: "\(reply.status) \(reason)"))
        }
    }
}
