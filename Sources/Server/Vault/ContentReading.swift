public import Providers
public import Store

/// Finds out what clients compare where the provider does not tell it: by reading the object.
public enum ContentReading {
    /// Reads the whole of `object`.
    ///
    /// - Parameter goesOn: called for each piece; `false` ends the reading with ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/contentMismatch`` if what was read is not what the provider says.
    public static func contents(
        of object: StoredObject, in storage: UserStorage, while goesOn: () -> Bool
    ) throws(CloudStorageError) -> KnownContent {
        var hasher = ContentHasher(for: storage.provider.storageType)
        var readBytes: Int64 = 0
        try storage.provider.download(objectID: object.objectID, from: storage.access) { bytes in
            hasher.update(bytes)
            readBytes += Int64(bytes.count)
            return goesOn()
        }
        let hashes = hasher.finish()
        guard readBytes == object.sizeBytes, object.providerHash.map({ $0 == hashes.providerHash }) ?? true else {
            throw .contentMismatch
        }
        return KnownContent(providerHash: hashes.providerHash, checkSum: hashes.checkSum)
    }
}
