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
        return KnownContent(providerHash: hashes.providerHash, checkSum: hashes.checkSum)
    }
}
