import Foundation
import OpenSSLCrypto
import Providers
import SyncProtocol
import Synchronization

/// A Google Drive in memory that keeps the contract, with faults on request.
final class FakeCloud: CloudProvider {
    struct Behaviour: Sendable {
        /// Runs after the object has been created, before the upload returns.
        var afterUpload: (@Sendable () -> Void)?
        /// Runs when the object has been described, before its bytes are fetched.
        var beforeDownload: (@Sendable () -> Void)?
        var uploadFailure: CloudStorageError?
        /// Whether objects get their identifiers only when they are created.
        var choosesIdentifiers = false
        /// Whether names are unique, as at Dropbox; then objects get their identifiers only when they are created.
        var hasUniqueNames = false
        /// Whether an object's identifier is its name, as in S3.
        var namesAreIdentifiers = false
        /// Whether objects are described without a hash, as on many WebDAV servers.
        var reportsNoHash = false
        var describeFailure: CloudStorageError?
        var deleteFailure: CloudStorageError?
        /// Runs once, before an object is deleted.
        var beforeDelete: (@Sendable () -> Void)?
        /// The number of bytes after which a download breaks off.
        var downloadBreaksAfterBytes: Int?
        /// Whether a download announces its length.
        var announcesLength = false
        /// The number of bytes by which an object's description exceeds its real size.
        var extraBytes: Int64 = 0
        var listFailure: CloudStorageError?
        /// The identifiers of the objects in each person's folder, by access token; `nil` if all share one.
        var folders: [String: [String]]?
        /// Whether an object's description contains its SHA-256.
        var reportsSHA256 = false
    }

    private struct State {
        var objects: [String: (name: String, bytes: [UInt8])] = [:]
        var behaviour = Behaviour()
        var describeCalls = 0
        var deleted: [String] = []
        var requestedRanges: [ClosedRange<Int64>?] = []
    }

    private let state = Mutex(State())
    let chunkBytes = 10_000

    var storageType: CloudStorageType { .google }

    var behaviour: Behaviour {
        get { state.withLock { $0.behaviour } }
        set { state.withLock { $0.behaviour = newValue } }
    }
    /// Every object whose deletion was requested, in order, whether or not it existed.
    var deleted: [String] { state.withLock { $0.deleted } }
    var describeCalls: Int { state.withLock { $0.describeCalls } }
    /// The ranges that downloads requested, in order; `nil` for everything.
    var requestedRanges: [ClosedRange<Int64>?] { state.withLock { $0.requestedRanges } }
    var objects: [String: [UInt8]] { state.withLock { $0.objects.mapValues(\.bytes) } }
    var namesByID: [String: String] { state.withLock { $0.objects.mapValues(\.name) } }
    var names: [String] { state.withLock { $0.objects.values.map(\.name) } }
    func replace(_ objectID: String, by bytes: [UInt8]?) {
        state.withLock { state in
            if let bytes { state.objects[objectID]?.bytes = bytes } else { state.objects[objectID] = nil }
        }
    }
    func put(_ objectID: String, _ name: String, _ bytes: [UInt8]) {
        state.withLock { $0.objects[objectID] = (name, bytes) }
    }

    /// Waits, for at most ten seconds, until more than `calls` objects have been described.
    func waitForDescription(after calls: Int) {
        let end = ContinuousClock.now + .seconds(10)
        while describeCalls <= calls, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.001) }
    }

    func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation {
        let behaviour = behaviour
        return ObjectReservation(
            name: name,
            objectID: behaviour.choosesIdentifiers || behaviour.hasUniqueNames ? nil : UUID().uuidString,
            folderID: "folder", spareName: behaviour.hasUniqueNames ? "spare-\(name)" : nil)
    }

    func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        if let failure = behaviour.uploadFailure { throw failure }
        var bytes: [UInt8] = []
        var isLast = false
        while !isLast {
            let part: UploadPart
            do {
                part = try content.nextPart(granularity: 256 * 1024)
            } catch {
                throw .contentFailed(error)
            }
            bytes += try part.whole()
            isLast = part.isLast
        }
        let objectID =
            reservation.objectID ?? (behaviour.namesAreIdentifiers ? reservation.name : UUID().uuidString)
        var name = reservation.name
        if behaviour.hasUniqueNames, let found = try find(name: name, in: access) {
            if objects[found.objectID] == bytes { return found }
            guard let spareName = reservation.spareName else { throw .contentMismatch }
            name = spareName
        }
        put(objectID, name, bytes)
        // Only once, because the hook may itself upload.
        let hook = state.withLock { $0.behaviour.afterUpload.take() }
        hook?()
        return try describe(objectID: objectID, in: access)
    }

    func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject {
        let (found, failure) = state.withLock { state in
            state.describeCalls += 1
            return (state.objects[objectID], state.behaviour.describeFailure)
        }
        if let failure { throw failure }
        guard let found else { throw .notFound }
        var stored = Self.stored(objectID, found.name, found.bytes)
        stored.sizeBytes += behaviour.extraBytes
        if behaviour.reportsNoHash { stored.providerHash = nil }
        if behaviour.reportsSHA256 { stored.sha256 = IncrementalDigest.digest(of: found.bytes, .sha256) }
        return stored
    }

    func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        let hook = state.withLock { $0.behaviour.beforeDownload.take() }
        hook?()
        guard let bytes = objects[objectID] else { throw .notFound }
        begin(behaviour.announcesLength ? Int64(bytes.count) : nil)
        state.withLock { $0.requestedRanges.append(range) }
        let wanted = range.map { Int($0.lowerBound)..<min(Int($0.upperBound) + 1, bytes.count) } ?? 0..<bytes.count
        let limit = behaviour.downloadBreaksAfterBytes ?? bytes.count
        for start in stride(from: wanted.lowerBound, to: min(limit, wanted.upperBound), by: chunkBytes) {
            let chunk = Array(bytes[start..<min(start + chunkBytes, limit, wanted.upperBound)])
            guard receive(chunk.span) else { throw .downloadCancelled }
        }
        if limit < wanted.upperBound { throw .unavailable(detail: "broken off") }
    }

    func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError) {
        let hook = state.withLock { $0.behaviour.beforeDelete.take() }
        hook?()
        _ = try access.tokens.current()
        if let failure = behaviour.deleteFailure { throw failure }
        state.withLock { $0.deleted.append(objectID) }
        replace(objectID, by: nil)
    }

    func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject? {
        let found = state.withLock { $0.objects.first { $0.value.name == name } }
        return found.map { found in
            var stored = Self.stored(found.key, found.value.name, found.value.bytes)
            if behaviour.reportsNoHash { stored.providerHash = nil }
            return stored
        }
    }

    func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        if let failure = behaviour.listFailure { throw failure }
        guard let folders = behaviour.folders else {
            return page(state.withLock { $0.objects.map { Self.stored($0.key, $0.value.name, $0.value.bytes) } })
        }
        let own = folders[try access.tokens.current().text] ?? []
        page(
            state.withLock { state in
                own.compactMap { id in state.objects[id].map { Self.stored(id, $0.name, $0.bytes) } }
            })
    }

    private static func stored(_ objectID: String, _ name: String, _ bytes: [UInt8]) -> StoredObject {
        StoredObject(
            objectID: objectID, name: name, sizeBytes: Int64(bytes.count), providerHash: md5(bytes), revision: nil)
    }
}

/// The checksum that Drive and our clients use.
func md5(_ bytes: [UInt8]) -> String { IncrementalDigest.digest(of: bytes, .md5).hexLowercase }
