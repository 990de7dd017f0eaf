import HTTPTransport
import SyncProtocol
import UntrustedInput

/// A drive item, limited to the members that we request (Microsoft Graph v1.0, `driveItem`).
struct DriveItem: Decodable, PlausibilityChecked {
    struct File: Decodable {
        var hashes: Hashes?
    }
    /// Any hash may be absent, and all of them may be absent for a while after an upload.
    struct Hashes: Decodable {
        var quickXorHash: String?
    }
    /// Present, and empty, if the item is in the bin.
    struct Deleted: Decodable {}

    /// The members that we request; the download address is included although it is an annotation.
    static let fields = "id,name,size,file,eTag,cTag,deleted,createdDateTime,@microsoft.graph.downloadUrl"

    /// The members that we request in listings: no download addresses.
    static let listedFields = "id,name,size,file,eTag,cTag,deleted,createdDateTime"

    var id: String
    var name: String?
    var size: Int64?
    var file: File?
    var eTag: String?
    /// Changes only with the contents, unlike `eTag`, which also changes with the name.
    var cTag: String?
    var deleted: Deleted?
    var createdDateTime: String?
    /// Secret: for about an hour, the holder of this address may read the item.
    var downloadURL: String?

    enum CodingKeys: String, CodingKey {
        case id, name, size, file, eTag, cTag, deleted, createdDateTime
        case downloadURL = "@microsoft.graph.downloadUrl"
    }

    var stored: StoredObject {
        StoredObject(
            objectID: id, name: name ?? "", sizeBytes: size ?? 0, providerHash: file?.hashes?.quickXorHash,
            revision: cTag ?? eTag, createdAt: createdDateTime.flatMap(WireDate.init(internetText:)))
    }

    var isPlausible: Bool { stored.isPlausible }
}

/// A page of a folder's items.
struct DriveItemPage: Decodable {
    var value: [DriveItem]
    /// The address of the next page, if there is one.
    var nextLink: String?

    enum CodingKeys: String, CodingKey {
        case value
        case nextLink = "@odata.nextLink"
    }
}

/// The request that starts an upload session.
struct NewUploadSession: Encodable {
    struct Item: Encodable {
        var name: String
        /// Lets a full drive report that at once instead of at the last byte.
        var fileSize: Int64?
        var conflictBehavior = "fail"

        enum CodingKeys: String, CodingKey {
            case name, fileSize
            case conflictBehavior = "@microsoft.graph.conflictBehavior"
        }
    }
    var item: Item
}

/// An upload session, or its state after a part.
struct UploadSessionState: Decodable {
    /// Only when the session starts. Secret: it authorizes its holder to write.
    var uploadUrl: String?
    var expirationDateTime: String?
    /// `["327680-"]` or `["327680-699999"]`; only the number before the first hyphen indicates where to continue.
    var nextExpectedRanges: [String]?

    /// Position of the first byte missing at OneDrive; `nil` if it does not report one.
    var nextPosition: Int64? {
        guard let range = nextExpectedRanges?.first else { return nil }
        return Int64(range.prefix { $0 != "-" }).flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// Graph's error body. The inner errors are more specific, and have two spellings.
struct GraphErrorBody: Decodable {
    final class Content: Decodable {
        let code: String?
        let innerError: Content?
        let innererror: Content?
    }
    var error: Content

    /// The codes from the outermost to the most specific one.
    var codes: [String] {
        var codes: [String] = []
        var content: Content? = error
        while let one = content, codes.count < 8 {
            if let code = one.code { codes.append(code) }
            content = one.innerError ?? one.innererror
        }
        return codes
    }
}

/// Classifies Graph's replies by the action they require (Microsoft Graph, "Microsoft Graph error responses and
/// resource types" and OneDrive's "Error responses").
enum GraphVerdict {
    /// - Parameter answers: error statuses for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<Int>) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        let codes = codes(reply)
        let word = codes?.last ?? "unknown"
        switch reply.status {
        case 401:
            return codes == nil ? .tokenDoubted : .tokenRejected
        case 400, 404:
            if let missing = MissingDrive(reply) {
                return .failure(.rejected(code: "\(reply.status) \(word): \(missing.rawValue)"))
            }
            if reply.status == 400 { return .failure(.rejected(code: "400 \(word)")) }
            // Not Graph's own reply, so nobody has looked for the object.
            guard codes != nil else {
                return .failure(.unavailable(detail: "status 404 from something that is not OneDrive"))
            }
            return .failure(.notFound)
        case 507:
            return .failure(.quotaExceeded)
        case 403 where codes?.contains(where: quotaCodes.contains) == true:
            return .failure(.quotaExceeded)
        case 429:
            return .throttled(after: reply.head.retryAfter, detail: "status \(reply.status) \(word)")
        case 408, 423, 500...:
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) \(word)")
        case 403 where codes?.contains(where: throttlingCodes.contains) == true:
            return .throttled(after: reply.head.retryAfter, detail: "status 403 \(word)")
        // A drive is read-only while its database is being moved, sometimes for hours.
        case 403 where codes?.contains("serviceReadOnly") == true:
            return .tryAgain(after: reply.head.retryAfter, detail: "status 403 \(word)")
        case 410:
            return .failure(.notFound)
        default:
            return .failure(.rejected(code: "\(reply.status) \(word)"))
        }
    }

    /// The error codes of a reply, outermost first; `nil` if its body is not Graph's.
    static func codes(_ reply: Reply) -> [String]? {
        (try? UntrustedJSON.decode(GraphErrorBody.self, from: reply.body))?.codes
    }

    private static let quotaCodes: Set = ["quotaLimitReached", "insufficientStorage"]
    private static let throttlingCodes: Set = ["activityLimitReached", "TooManyRequests", "throttledRequest"]
}

/// Why a person has no OneDrive at all.
///
/// Only Graph's message reveals it: the codes, `ResourceNotFound` and `BadRequest`, have many other meanings.
enum MissingDrive: String {
    case notSetUp = "the person's OneDrive was never set up (mysite not found)"
    case notLicensed = "the person's organization has no license for OneDrive (SharePoint Online)"

    /// - Returns: `nil` for every other reply.
    init?(_ reply: Reply) {
        guard reply.status == 400 || reply.status == 404,
            let text = try? UntrustedJSON.decode(Body.self, from: reply.body).error.message?.lowercased()
        else { return nil }
        if text.contains("mysite") {
            self = .notSetUp
        } else if text.contains("does not have a spo license") {
            self = .notLicensed
        } else {
            return nil
        }
    }

    private struct Body: Decodable {
        struct Content: Decodable {
            var message: String?
        }
        var error: Content
    }
}
