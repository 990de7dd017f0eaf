import OpenSSLCrypto
public import Providers
public import Store

/// Computes the hashes that clients compare, where the provider does not report them, by reading the object.
public enum ContentReading {
    /// How fast bytes have to come, once the reading has taken a minute: it occupies a thread.
    private static let leastBytesPerSecond: Int64 = 64 * 1024
    /// How long any reading may take.
    private static let longestTime: Duration = .seconds(6 * 3_600)

    /// How long it may take to read so many bytes.
    private static func patience(for bytes: Int64) -> Duration {
        min(.seconds(60 + bytes / leastBytesPerSecond), longestTime)
    }

    /// Reads the whole of `object`.
    ///
    /// - Parameter goesOn: called for each chunk; returning `false` ends the reading with
    ///   ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/contentMismatch`` if the bytes read do not match what the
    ///   provider reports; ``CloudStorageError/timedOut`` if they come more slowly than 64 KiB a second, or for more than six
    ///   hours.
    public static func contents(
        of object: StoredObject, in storage: UserStorage, while goesOn: () -> Bool
    ) throws(CloudStorageError) -> KnownContent {
        let began = ContinuousClock.now
        // Whatever is read may be newer than the description, or a page in its place, which no hash gives away.
        let isUnhashed = object.providerHash == nil && !storage.provider.storageType.reportsHashLate
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
            throw .unavailable(detail: "the object was changed while it was read")
        }
        return KnownContent(providerHash: mark, checkSum: hashes.checkSum)
    }
}

extension StoredObject {
    /// What may be stored as the revision of a file whose object was found elsewhere: where only that would tell its contents
    /// from the file's, nobody has compared them.
    public var adoptedRevision: String? { providerHash == nil ? nil : revision }

    /// What tells its contents from others that it may have later: the provider's hash, or else, where it reports none, a
    /// hash of revision and size (``KnownContent/providerHash``).
    public var contentMark: String? {
        providerHash
            ?? revision.map { IncrementalDigest.digest(of: Array("\(sizeBytes) \($0)".utf8), .sha256).hexLowercase }
    }
}
