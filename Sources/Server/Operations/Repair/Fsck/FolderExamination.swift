import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Compares one owner's folder with the rows that refer to objects in it. It lists the folder once. It examines every
/// suspicious object again by its identifier, and then reads the rows again, because uploads, commits and deletions
/// continue meanwhile. It keeps only a hash of each listed object's identifier.
struct FolderExamination {
    private static let page = 200
    /// The limit for seemingly unreferenced objects of one folder; further ones are left for another check.
    private static let maximumStrays = 10_000
    /// The time limit for all pages of a folder.
    private static let listingTime: Duration = .seconds(1_800)
    /// The time limit for one owner: a storage that answers every request late must not occupy a check for days.
    private static let longestTime: Duration = .seconds(7_200)

    private let deadline = Deadline.after(Self.longestTime)

    let owner: OwningUser
    let look: ObjectLook
    /// Names of the server's own objects that are not files, such as the warning file.
    let ownNames: Set<String>
    /// Receives problems.
    let report: (CloudProblem, Violation) -> Void
    /// Handles an unreferenced object; the name is the original one.
    let stray: (StoredObject, CloudFileName) throws -> Void
    /// Called after each file with the number of files so far.
    let progress: (Int) -> Void

    /// - Returns: the number of files.
    /// - Throws: `CloudStorageError` if the folder or one of its objects could not be examined; ``StoreError``.
    func run() throws -> Int {
        let listing = try list()
        for object in listing.foreign { report(.objectForeign, violation(object)) }
        if listing.moreForeign > 0 {
            report(.objectForeign, Violation(row: "user \(owner.userID)", detail: "\(listing.moreForeign) more"))
        }
        if listing.moreStrays > 0 {
            report(
                .objectUnknown,
                Violation(
                    row: "user \(owner.userID)",
                    detail: "\(listing.moreStrays) more with names like this server's, not examined"))
        }
        for objectID in listing.doubtful {
            for object in try look.store.withSession({ try $0.referredObjects(objectID: objectID, of: owner.userID) }) {
                _ = try examine(object)
            }
        }
        let (count, substitutes) = try examineFiles(unless: listing.identifiers)
        // Last, because such an object may be a substitute for a lost one.
        for (object, name) in listing.strays where !substitutes.contains(object.objectID) {
            try examine(stray: object, name)
        }
        return count
    }

    // MARK: The listing

    private struct Listing {
        /// Hashes of the identifiers, because a folder may have a million objects.
        var identifiers: Set<Int> = []
        /// Objects that differ from their rows.
        var doubtful: [String] = []
        var strays: [(StoredObject, CloudFileName)] = []
        var moreStrays = 0
        var foreign: [StoredObject] = []
        var moreForeign = 0
    }

    private func list() throws -> Listing {
        var listing = Listing()
        var failure: (any Error)?
        try look.patiently { storage throws(CloudStorageError) in
            listing = Listing()
            var access = storage.access
            access.deadline = .after(Self.listingTime)
            try storage.provider.list(in: access) { page in
                guard failure == nil else { return }
                do { try sort(page, into: &listing) } catch { failure = error }
            }
        }
        if let failure { throw failure }
        return listing
    }

    private func sort(_ page: [StoredObject], into listing: inout Listing) throws {
        for object in page {
            listing.identifiers.insert(object.objectID.hashValue)
            let files = try look.store.withSession { session in
                try session.referredObjects(objectID: object.objectID, of: owner.userID)
            }
            if !files.isEmpty {
                if look.reads || files.contains(where: { ObjectComparison(object, with: $0.file).isDifference }) {
                    listing.doubtful.append(object.objectID)
                }
            } else if let name = CloudFileName(ObjectReservation.plainName(of: object.name)) {
                if try isKnown(object, name) { continue }
                if listing.strays.count < Self.maximumStrays {
                    listing.strays.append((object, name))
                } else {
                    listing.moreStrays += 1
                }
            } else if try !isOurs(object) {
                if listing.foreign.count < Self.page {
                    listing.foreign.append(object)
                } else {
                    listing.moreForeign += 1
                }
            }
        }
    }

    private func isKnown(_ object: StoredObject, _ name: CloudFileName) throws -> Bool {
        try look.store.withSession { session in
            try session.isKnown(object.objectID, named: name, actualName: object.name, of: owner.userID)
        }
    }

    private func isOurs(_ object: StoredObject) throws -> Bool {
        // Those that are not recorded were written before a restoration, and may be needed to repair it.
        if ownNames.contains(object.name) || ManifestName(ObjectReservation.plainName(of: object.name)) != nil {
            return true
        }
        return try look.store.withSession { try $0.isIndexPage(object.objectID, of: owner.userID) }
    }

    // MARK: The second examination

    private func examine(stray object: StoredObject, _ name: CloudFileName) throws {
        if deadline.hasPassed { throw CloudStorageError.timedOut }
        // Has it been deleted or referenced since it was listed?
        guard let present = try look.describe(object.objectID), try !isKnown(present, name) else { return }
        try stray(present, name)
    }

    /// - Returns: the number of files, and the objects that have the name of a file whose own object is gone.
    private func examineFiles(unless listed: Set<Int>) throws -> (count: Int, substitutes: Set<String>) {
        var count = 0
        var substitutes: Set<String> = []
        var last: ReferredObject?
        while true {
            let objects = try look.store.withSession { session in
                try session.referredObjects(owner: owner.userID, after: last, limit: Self.page)
            }
            for object in objects {
                // Has its owner moved it elsewhere, or is it gone?
                if let objectID = object.file.objectID, !listed.contains(objectID.hashValue) {
                    if let substitute = try examine(object) { substitutes.insert(substitute) }
                }
                count += 1
                progress(count)
            }
            last = objects.last
            if objects.count < Self.page { return (count, substitutes) }
        }
    }

    /// Examines one file; a provider that rejects requests about one object may still answer those about others.
    private func examine(_ object: ReferredObject) throws -> String? {
        if deadline.hasPassed { throw CloudStorageError.timedOut }
        do {
            return try look.examine(object)
        } catch CloudStorageError.rejected(let code) {
            report(
                .storageUnavailable,
                Violation(
                    row: "file \(object.file.fileUUID) of group \(object.groupUUID)", detail: "rejected: \(code)"))
            return nil
        }
    }

    private func violation(_ object: StoredObject) -> Violation {
        Violation(
            row: "object \(object.objectID) of user \(owner.userID)",
            detail: "\(object.name), \(object.sizeBytes) bytes")
    }
}

/// Handles an unreferenced object. Only objects that this server certainly left behind may be deleted. Another server
/// of the same app may use the same folder, the owner may have copied the object, or the database may have been
/// restored from a backup older than the object: such an object is only reported.
struct StrayObjects {
    /// The server itself cleans up younger objects: its leases and postponements are far shorter.
    static let safetySeconds: Int64 = 86_400

    let store: MetadataStore
    let owner: OwningUser
    let repairs: Bool
    let report: (CloudProblem, Violation) -> Void
    let repaired: (CloudProblem) -> Void

    /// - Parameter name: the object's original name.
    /// - Throws: ``StoreError``.
    func handle(_ object: StoredObject, _ name: CloudFileName) throws {
        let description = "\(object.name), \(object.sizeBytes) bytes"
        let row = "object \(object.objectID) of user \(owner.userID)"
        if let reason = try reasonToKeep(object, name) {
            return report(.objectUnknown, Violation(row: row, detail: "\(description): \(reason)"))
        }
        guard repairs else { return report(.objectOrphaned, Violation(row: row, detail: description)) }
        let isScheduled = try store.transaction { session in
            try session.scheduleDeletion(ofOrphan: object, named: name, in: owner, at: store.now)
        }
        if isScheduled { repaired(.objectOrphaned) }
    }

    /// Why an object must be kept; `nil` if it is certainly unused.
    private func reasonToKeep(_ object: StoredObject, _ name: CloudFileName) throws -> String? {
        guard let createdAt = object.createdAt else { return "its provider does not report its age" }
        guard store.now.secondsSince1970 - createdAt.secondsSince1970 > Self.safetySeconds else {
            return "less than a day old"
        }
        let origin = try store.withSession { session in
            try session.origin(of: name, createdAt: createdAt, in: owner.userID)
        }
        if origin.isOfUnknownTime { return "uploaded between a backup and its restoration" }
        // If the file's object is lost, a download would find this one by its name.
        if origin.hasPresentName { return "has the same name as the file's current version" }
        if let committed = origin.committedVersion {
            return name.fileVersion > committed ? "has a later version than the file" : nil
        }
        if origin.isOwnerImported { return "may be a file of the older server that was not imported" }
        return origin.isDeviceKnown ? nil : "this server knows neither its file nor its device"
    }
}

extension StoreSession {
    /// Schedules an object's deletion in the outbox, unless something refers to it. Call it in a transaction. After the
    /// commit, no file can adopt the object. The jobs role checks again that no row refers to it before it deletes it
    /// (``isReferenced(_:of:)``).
    /// - Parameter name: the object's original name.
    /// - Returns: whether the deletion was scheduled.
    mutating func scheduleDeletion(
        ofOrphan object: StoredObject, named name: CloudFileName, in owner: OwningUser, at now: WireDate
    ) throws(StoreError) -> Bool {
        // The removal of an owner also removes their work.
        guard try holdUser(owner.userID) else { return false }
        guard try !isReferenced(object.objectID, of: owner), try !isReferenced(name, of: owner),
            try !isKnown(object.objectID, named: name, actualName: object.name, of: owner.userID)
        else { return false }
        try addDeletion(ofOrphan: object.objectID, named: name, in: owner, at: now)
        return true
    }
}
