import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Compares one owner's folder with the rows that refer to objects in it.
///
/// The folder is listed once; whatever looks wrong then is looked at a second time by its identifier, and the rows are
/// read again after that: uploads, commits and deletions go on meanwhile. Of the objects listed, only a hash of each
/// identifier is kept.
struct FolderExamination {
    private static let page = 200
    /// Objects kept of one folder to which nothing seems to refer; the others are left to another check.
    private static let maximumStrays = 10_000
    /// For all pages of a folder.
    private static let listingTime: Duration = .seconds(1_800)
    /// For one owner: a storage that answers, but each question late, must not occupy a check for days.
    private static let longestTime: Duration = .seconds(7_200)

    private let deadline = Deadline.after(Self.longestTime)

    let owner: OwningUser
    let look: ObjectLook
    /// Names that are neither files' nor foreign, such as that of the warning file.
    let ownNames: Set<String>
    /// Where problems go.
    let report: (CloudProblem, Violation) -> Void
    /// Handles an object to which nothing refers; the name is its original one.
    let stray: (StoredObject, CloudFileName) throws -> Void
    /// Called after each file with their number so far.
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
        // Last, since an object may be what is left of a file.
        for (object, name) in listing.strays where !substitutes.contains(object.objectID) {
            try examine(stray: object, name)
        }
        return count
    }

    // MARK: The listing

    private struct Listing {
        /// Hashes of the identifiers, since a folder may have a million objects.
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

    // MARK: The second look

    private func examine(stray object: StoredObject, _ name: CloudFileName) throws {
        if deadline.hasPassed { throw CloudStorageError.timedOut }
        // Deleted, or referred to by a row, since it was listed?
        guard let present = try look.describe(object.objectID), try !isKnown(present, name) else { return }
        try stray(present, name)
    }

    /// - Returns: how many files there are, and the objects that have the name of a file whose own object is gone.
    private func examineFiles(unless listed: Set<Int>) throws -> (count: Int, substitutes: Set<String>) {
        var count = 0
        var substitutes: Set<String> = []
        var last: ReferredObject?
        while true {
            let objects = try look.store.withSession { session in
                try session.referredObjects(owner: owner.userID, after: last, limit: Self.page)
            }
            for object in objects {
                // Moved elsewhere by its owner, or gone?
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

    /// Examines one file; a provider that refuses to speak of its object may well speak of the others.
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
