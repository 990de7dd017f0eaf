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
