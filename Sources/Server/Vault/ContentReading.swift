import OpenSSLCrypto
public import Providers
public import Store

/// Reads an object to compute the hashes that clients compare, where the provider does not report them.
public enum ContentReading {
    /// The minimum transfer rate after the first minute, since the reading occupies a thread.
    private static let leastBytesPerSecond: Int64 = 64 * 1024
    /// The time limit of any reading.
    private static let longestTime: Duration = .seconds(6 * 3_600)

    /// The time limit for reading this many bytes.
    private static func patience(for bytes: Int64) -> Duration {
        min(.seconds(60 + bytes / leastBytesPerSecond), longestTime)
    }

    /// Reads the whole of `object`.
    ///
    /// - Parameter goesOn: called for each chunk; if it returns `false`, the reading ends with
    ///   ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/contentMismatch`` if the bytes read do not match the
    ///   provider's report; ``CloudStorageError/timedOut`` if they arrive more slowly than 64 KiB a second, or for more
    ///   than six hours.
    public static func contents(
        of object: StoredObject, in storage: UserStorage, while goesOn: () -> Bool
    ) throws(CloudStorageError) -> KnownContent {
        let began = ContinuousClock.now
        // The bytes may be newer than the description, or an error page in their place, and no hash would reveal that.
        let isUnhashed = object.providerHash == nil && !storage.provider.storageType.traits.reportsHashLate
        var isTooSlow = false
        var hasher = ContentHasher(for: storage.provider.storageType)
        var expectedBytes = object.sizeBytes
        var readBytes: Int64 = 0
        do throws(CloudStorageError) {
            try storage.provider.download(
                objectID: object.objectID, from: storage.access,
                begin: { if let announcedBytes = $0, !isUnhashed { expectedBytes = announcedBytes } },
                receive: { bytes in
                    hasher.update(bytes)
                    readBytes += Int64(bytes.count)
                    isTooSlow = began.duration(to: .now) > patience(for: readBytes)
                    return !isTooSlow && readBytes <= expectedBytes && goesOn()
                })
        } catch .downloadCancelled where isTooSlow {
            throw .timedOut
        } catch .downloadCancelled where readBytes > expectedBytes {
            throw .contentMismatch
        }
        let hashes = hasher.finish()
        guard readBytes == expectedBytes,
            object.providerHash.map({ $0 == hashes.providerHash }) ?? true
        else { throw .contentMismatch }
        guard isUnhashed, let mark = object.contentMark else {
            return KnownContent(providerHash: hashes.providerHash, checkSum: hashes.checkSum)
        }
        guard try storage.provider.describe(objectID: object.objectID, in: storage.access).contentMark == mark else {
            throw .unavailable(detail: "the object changed while it was read")
        }
        return KnownContent(providerHash: mark, checkSum: hashes.checkSum)
    }
}

extension StoredObject {
    /// The revision to store for a file whose object was found elsewhere; `nil` if only the revision could distinguish
    /// its contents from the file's, since nobody has compared them.
    public var adoptedRevision: String? { providerHash == nil ? nil : revision }

    /// Distinguishes the object's contents from later ones: the provider's hash or, where it reports none, a hash of
    /// revision and size (``KnownContent/providerHash``).
    public var contentMark: String? {
        providerHash
            ?? revision.map { IncrementalDigest.digest(of: Array("\(sizeBytes) \($0)".utf8), .sha256).hexLowercase }
    }
}
