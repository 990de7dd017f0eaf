import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Vault

/// Keeps the page that lists an owner's files in their folder.
///
/// The intended page is recorded before its first byte is sent, so that an interrupted attempt is recognised and there
/// is never a second page. If names may repeat, the new page is stored before the old one is deleted; if they are
/// unique, only afterwards.
struct IndexPageWork: Sendable {
    /// How long other processes leave the page alone; far longer than one piece of work may take.
    private static let leaseSeconds = 300
    /// The time limit for reading a page; less than the lease.
    private static let readingTime: Duration = .seconds(120)
    /// More bytes than any page has.
    private static let longestPageBytes: Int64 = 16 << 20
    private static let otherProcess = CloudStorageError.unavailable(detail: "another process writes the page")

    let store: MetadataStore
    let leaseOwner: String
    let types: MIMETypeTable
    let now: @Sendable () -> WireDate

    /// Stores the current page, unless it is already stored.
    /// - Throws: `CloudStorageError`, `StoreError`.
    func write(for owner: OwningUser, in storage: UserStorage, _ logger: Logger) throws {
        guard try store.withSession({ try $0.user(owner.userID) }) != nil else { return }
        let isOurs = try store.transaction { session in
            try session.takeIndexPage(of: owner.userID, by: leaseOwner, seconds: Self.leaseSeconds)
        }
        guard isOurs else { throw Self.otherProcess }
        // If this fails, the lease expires.
        defer { _ = try? store.transaction { try $0.releaseIndexPage(of: owner.userID, by: leaseOwner) } }
        var page = try store.withSession { try $0.indexPage(of: owner.userID) } ?? IndexPageRecord()
        if let next = page.next { try settle(next, &page, owner, storage) }

        let (files, total) = try store.snapshot { session in
            try session.listedFiles(of: owner.userID, limit: IndexPage.maximumFiles)
        }
        let bytes = IndexPage(files, total: total, types: types).bytes()
        let hash = IncrementalDigest.digest(of: bytes, .sha256)
        if page.objectID != nil, page.contentHash == hash { return }
        try replace(&page, by: bytes, hash, owner, storage, logger)
    }

    private func replace(
        _ page: inout IndexPageRecord, by bytes: [UInt8], _ hash: [UInt8], _ owner: OwningUser, _ storage: UserStorage,
        _ logger: Logger
    ) throws {
        let former = try formerPage(page, storage)
        if let found = try storage.provider.find(name: IndexPage.name, in: storage.access), found.objectID != former,
            try !store.withSession({ try $0.isDoomed(found.objectID, of: owner) })
        {
            return logger.info("Page not written: a file of the person has its name")
        }
        var reservation = try storage.provider.reserve(name: IndexPage.name, in: storage.access)
        let areNamesUnique = reservation.spareName != nil
        // Nobody would look for the page under another name.
        reservation.spareName = nil
        let content = BytesContent(bytes, for: storage.provider.storageType)
        page.next = IndexPageRecord.Intent(
            objectID: reservation.objectID, contentHash: hash, providerHash: content.providerHash)
        try keep(page, owner)
        if areNamesUnique, let former { try storage.provider.delete(objectID: former, in: storage.access) }
        let stored = try storage.provider.upload(
            content, as: reservation, mimeType: IndexPage.mimeType, to: storage.access)
        guard try !finish(&page, stored.objectID, former: areNamesUnique ? nil : former, owner) else { return }
        // If the owner was removed, so were all records of the object; otherwise another process finds it.
        guard try store.withSession({ try $0.user(owner.userID) }) == nil else { throw Self.otherProcess }
        try storage.provider.delete(objectID: stored.objectID, in: storage.access)
    }

    /// The object of the page to be replaced; `nil` if the person has deleted, renamed or changed it: where the
    /// identifier is the name, their own file may have taken its place.
    private func formerPage(_ page: IndexPageRecord, _ storage: UserStorage) throws -> String? {
        guard let objectID = page.objectID else { return nil }
        do throws(CloudStorageError) {
            let present = try storage.provider.describe(objectID: objectID, in: storage.access)
            guard present.name == IndexPage.name else { return nil }
            return try hash(of: present, storage) == page.contentHash ? objectID : nil
        } catch {
            guard case .notFound = error else { throw error }
            return nil
        }
    }

    /// SHA-256 of an object's bytes; `nil` if it is larger than any page.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/contentMismatch`` if the bytes do not match the
    ///   description.
    private func hash(of object: StoredObject, _ storage: UserStorage) throws(CloudStorageError) -> [UInt8]? {
        guard object.sizeBytes <= Self.longestPageBytes else { return nil }
        let deadline = Deadline.after(Self.readingTime)
        var readBytes: Int64 = 0
        var digest = IncrementalDigest(.sha256)
        do throws(CloudStorageError) {
            try storage.provider.download(
                objectID: object.objectID, from: storage.access, begin: { _ in },
                receive: { bytes in
                    digest.update(bytes)
                    readBytes += Int64(bytes.count)
                    return readBytes <= object.sizeBytes && !deadline.hasPassed
                })
        } catch .downloadCancelled {
            throw readBytes > object.sizeBytes ? .contentMismatch : .timedOut
        }
        // Another file may have replaced the object; the next attempt may read the right one.
        guard readBytes == object.sizeBytes else { throw .contentMismatch }
        return digest.finish()
    }

    /// Determines whether an interrupted attempt has stored its page.
    private func settle(
        _ next: IndexPageRecord.Intent, _ page: inout IndexPageRecord, _ owner: OwningUser, _ storage: UserStorage
    ) throws {
        let found: StoredObject?
        if let objectID = next.objectID {
            do throws(CloudStorageError) {
                found = try storage.provider.describe(objectID: objectID, in: storage.access)
            } catch {
                guard case .notFound = error else { throw error }
                found = nil
            }
        } else {
            let named = try storage.provider.find(name: IndexPage.name, in: storage.access)
            found = try named.flatMap { try isPage(next, $0, storage) ? $0 : nil }
        }
        guard let found else {
            page.next = nil
            return
        }
        let former = next.objectID == nil ? nil : try formerPage(page, storage)
        guard try finish(&page, found.objectID, former: former, owner) else { throw Self.otherProcess }
    }

    /// Whether an object is the intended page; where the identifier is the name, the former page has the same
    /// identifier.
    private func isPage(
        _ next: IndexPageRecord.Intent, _ object: StoredObject, _ storage: UserStorage
    ) throws(CloudStorageError) -> Bool {
        if let hash = object.providerHash { return hash == next.providerHash }
        return try hash(of: object, storage) == next.contentHash
    }

    /// Records the intended page as the current one.
    /// - Parameter former: an object to delete.
    /// - Returns: `false`, with nothing recorded, if the owner was removed or another process is writing the page.
    private func finish(
        _ page: inout IndexPageRecord, _ objectID: String, former: String?, _ owner: OwningUser
    ) throws -> Bool {
        let finished = IndexPageRecord(objectID: objectID, contentHash: page.next?.contentHash)
        let isRecorded = try store.transaction { session in
            guard try session.store(finished, of: owner.userID, by: leaseOwner) else { return false }
            if let former { try session.addDeletion(of: former, in: owner, availableAt: now(), at: now()) }
            return true
        }
        if isRecorded { page = finished }
        return isRecorded
    }

    private func keep(_ page: IndexPageRecord, _ owner: OwningUser) throws {
        let isKept = try store.transaction { try $0.store(page, of: owner.userID, by: leaseOwner) }
        guard isKept else { throw Self.otherProcess }
    }
}
