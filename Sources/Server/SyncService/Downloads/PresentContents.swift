import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// The current contents of an object, as clients see them: the checksum to announce, and whether it differs from the
/// committed version's.
///
/// Google and Dropbox report that checksum. OneDrive has a hash of its own: while it equals the stored one, the
/// contents are unchanged; otherwise the server reads the object once and stores the result. The same applies to an
/// object in S3, or at a WebDAV server, that has no hash at all.
struct PresentContents {
    /// The largest object that is read while a phone waits.
    private static let readLimitBytes: Int64 = 100 << 20
    /// The part of the request's time reserved for the download itself.
    private static let timeForDownload: Duration = .seconds(5)

    let checkSum: CheckSum
    let hasChanged: Bool
    /// The number of bytes: as counted during the upload, or otherwise as the provider describes them.
    let sizeBytes: Int64
    /// Identifies these bytes among all contents that the file has ever had.
    let tag: EntityTag

    private init(_ checkSum: CheckSum, of object: StoredObject, as file: FileRecord) {
        self.checkSum = checkSum
        tag = EntityTag(fileVersion: file.fileVersion, checkSum: checkSum)
        hasChanged = file.checkSum.map { $0 != checkSum } ?? false
        sizeBytes = checkSum == file.checkSum ? file.sizeBytes ?? object.sizeBytes : object.sizeBytes
    }

    /// The contents as committed; `nil` unless the provider reports that the object still has them.
    static func unchanged(of object: StoredObject, as file: FileRecord) -> PresentContents? {
        guard let checkSum = file.checkSum, isUnchanged(object, file, checkSum) else { return nil }
        return PresentContents(checkSum, of: object, as: file)
    }

    /// The contents if the provider's description of the object identifies them; `nil` if the object must be read.
    static func described(by object: StoredObject, as file: FileRecord) -> PresentContents? {
        if let unchanged = unchanged(of: object, as: file) { return unchanged }
        let storageType = file.owningUser.storageType
        guard storageType.traits.reportsCheckSum, let hash = object.providerHash,
            let present = CheckSum(hash)?.canonical(as: storageType.checkSumFlavour)
        else { return nil }
        return PresentContents(present, of: object, as: file)
    }

    /// Determines the checksum, which may require reading the object.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` if the provider does not report the object's hash, or if
    ///   the jobs role must still read the object.
    static func determine(
        of object: StoredObject, as file: FileRecord, _ storage: UserStorage, _ context: RequestContext
    ) throws -> PresentContents {
        if let described = described(by: object, as: file) { return described }
        let storageType = file.owningUser.storageType
        guard !storageType.traits.reportsCheckSum || storageType.traits.mayReportNoHash else {
            throw CloudStorageError.unavailable(detail: "the provider does not report the object's hash")
        }
        return PresentContents(
            try Self.checkSum(of: object, file.owningUser, storage, context), of: object, as: file)
    }

    private static func isUnchanged(_ object: StoredObject, _ file: FileRecord, _ checkSum: CheckSum) -> Bool {
        if let hash = object.providerHash { return hash == file.providerHash ?? checkSum.rawValue }
        // A provider that has not hashed the object yet still reports whether it was modified.
        return object.revision != nil && object.revision == file.objectRevision && object.sizeBytes == file.sizeBytes
    }

    /// The stored result for the same bytes, or the result of reading them.
    private static func checkSum(
        of object: StoredObject, _ owner: OwningUser, _ storage: UserStorage, _ context: RequestContext
    ) throws -> CheckSum {
        let known = try context.store.withSession { try $0.knownContent(of: object.objectID, in: owner) }
        if let known, known.providerHash == object.contentMark { return known.checkSum }
        guard object.sizeBytes <= readLimitBytes else { return try leaveToJobs(object, owner, context) }
        do {
            let content = try ContentReading.contents(of: object, in: storage) {
                context.deadline.remaining > timeForDownload
            }
            try context.store.transaction { session in
                try session.remember(content, of: object.objectID, in: owner, at: context.now)
            }
            return content.checkSum
        } catch CloudStorageError.downloadCancelled {
            return try leaveToJobs(object, owner, context)
        }
    }

    private static func leaveToJobs(
        _ object: StoredObject, _ owner: OwningUser, _ context: RequestContext
    ) throws -> CheckSum {
        try context.store.transaction { session in
            try session.addHashing(of: object.objectID, in: owner, availableAt: context.now, at: context.now)
        }
        throw CloudStorageError.unavailable(detail: "the object's checksum is being computed")
    }
}
