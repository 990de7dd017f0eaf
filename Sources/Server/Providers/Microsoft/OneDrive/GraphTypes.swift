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
