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
                    detail: "\(listing.moreStrays) more with names of ours, not examined"))
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
            } else if let name = CloudFileName(Self.plainName(of: object.name)) {
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
        if ownNames.contains(object.name) { return true }
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

    /// A name without the suffix of a spare name: `~` and eight hexadecimal digits before its extension.
    static func plainName(of name: String) -> String {
        guard let mark = name.lastIndex(of: "~") else { return name }
        let digits = name[name.index(after: mark)...].prefix { $0.isHexDigit }
        let rest = name[digits.endIndex...]
        guard digits.count == 8, rest.first == "." else { return name }
        return String(name[..<mark] + rest)
    }
}
