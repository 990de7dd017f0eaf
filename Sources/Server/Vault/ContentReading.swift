import OpenSSLCrypto
public import Providers
public import Store

/// Computes the hashes that clients compare, where the provider does not report them, by reading the object.
public enum ContentReading {
    /// Reads the whole of `object`.
    ///
    /// - Parameter goesOn: called for each chunk; returning `false` ends the reading with
    ///   ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/contentMismatch`` if the bytes read do not match what the
    ///   provider reports.
    public static func contents(
        of object: StoredObject, in storage: UserStorage, while goesOn: () -> Bool
    ) throws(CloudStorageError) -> KnownContent {
        var hasher = ContentHasher(for: storage.provider.storageType)
        var announcedBytes: Int64?
        var readBytes: Int64 = 0
        try storage.provider.download(
            objectID: object.objectID, from: storage.access,
            begin: { announcedBytes = $0 },
            receive: { bytes in
                hasher.update(bytes)
                readBytes += Int64(bytes.count)
                return goesOn()
            })
        let hashes = hasher.finish()
        guard readBytes == announcedBytes ?? object.sizeBytes,
            object.providerHash.map({ $0 == hashes.providerHash }) ?? true
        else { throw .contentMismatch }
        guard object.providerHash == nil, !storage.provider.storageType.reportsHashLate, let mark = object.contentMark
        else { return KnownContent(providerHash: hashes.providerHash, checkSum: hashes.checkSum) }
        // Whatever was read may be newer than the description, or a page in its place, which no hash gives away.
        guard readBytes == object.sizeBytes else { throw .contentMismatch }
        guard try storage.provider.describe(objectID: object.objectID, in: storage.access).contentMark == mark else {
            throw .unavailable(detail: "the object was changed while it was read")
        }
        return KnownContent(providerHash: mark, checkSum: hashes.checkSum)
    }
}

extension StoredObject {
    /// What tells its contents from others that it may have later: the provider's hash, or else, where it reports none, a
    /// hash of revision and size (``KnownContent/providerHash``).
    public var contentMark: String? {
        providerHash
            ?? revision.map { IncrementalDigest.digest(of: Array("\(sizeBytes) \($0)".utf8), .sha256).hexLowercase }
    }
}
