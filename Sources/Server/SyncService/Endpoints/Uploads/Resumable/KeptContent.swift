import Store
import SyncProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The description of an object that holds all bytes of an upload, as stored in the upload's row.
struct KeptContent: Codable {
    private var checkSum: String
    private var sha256: [UInt8]?
    private var sizeBytes: Int64?
    private var objectID: String?
    private var objectRevision: String?
    private var providerHash: String?

    init(_ content: StoredContent) {
        checkSum = content.checkSum.rawValue
        sha256 = content.sha256
        sizeBytes = content.sizeBytes
        objectID = content.objectID
        objectRevision = content.objectRevision
        providerHash = content.providerHash
    }

    init(_ text: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
    }

    var text: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }

    /// - Throws: ``StoreError/corrupt(table:column:)``.
    func stored(in owner: OwningUser) throws -> StoredContent {
        guard let checkSum = CheckSum(checkSum) else {
            throw StoreError.corrupt(table: "resumable_uploads", column: "content")
        }
        return StoredContent(
            owningUser: owner, checkSum: checkSum, sha256: sha256, sizeBytes: sizeBytes, objectID: objectID,
            objectRevision: objectRevision, providerHash: providerHash)
    }
}
