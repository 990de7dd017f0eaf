import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Examines single objects in one owner's storage, repeatedly if necessary.
struct ObjectLook {
    /// The time limit for one object.
    private static let objectTime: Duration = .seconds(40)
    /// The total time to wait at the provider's request before the storage counts as unavailable.
    private static let longestWait: Duration = .seconds(900)
    /// A missing object is looked up again if its file is younger than this: providers are eventually consistent.
    private static let freshSeconds: Int64 = 3_600
    private static let secondLookPause: Duration = .seconds(3)

    let store: MetadataStore
    let storage: UserStorage
    let backoff: Backoff
    let repairs: Bool
    /// Receives problems.
    let report: (CloudProblem, Violation) -> Void
    /// Called when a problem has been repaired.
    let repaired: (CloudProblem) -> Void
    /// Whether to read the contents as well.
    var reads = false

    /// Runs `body`, and retries it after each wait that the provider requests.
    func patiently<Result>(
        _ body: (UserStorage) throws(CloudStorageError) -> Result
    ) throws(CloudStorageError) -> Result {
        let patience = Deadline.after(Self.longestWait)
        while true {
            do throws(CloudStorageError) {
                return try body(storage)
            } catch {
                guard case .rateLimited(let retryAfter) = error,
                    backoff.pause(max(retryAfter ?? .seconds(30), .seconds(1)), deadline: patience)
                else { throw error }
            }
        }
    }

    /// The provider's description of an object; `nil` if it does not exist.
    func describe(_ objectID: String) throws(CloudStorageError) -> StoredObject? {
        do throws(CloudStorageError) {
            return try patiently { storage throws(CloudStorageError) in
                var access = storage.access
                access.deadline = .after(Self.objectTime)
                return try storage.provider.describe(objectID: objectID, in: access)
            }
        } catch {
            guard case .notFound = error else { throw error }
            return nil
        }
    }

    /// Compares the object of a file with its row, and reports differences.
    /// - Returns: the identifier of an object that has the file's name, if the file's own object is gone.
    /// - Throws: `CloudStorageError` if the object could not be examined; ``StoreError``.
    @discardableResult
    func examine(_ object: ReferredObject) throws -> String? {
        guard let objectID = object.file.objectID else { return nil }
        if let present = try describe(objectID) {
            try compare(object, with: present)
            return nil
        }
        guard try isStillReferred(object) else { return nil }
        if store.now.secondsSince1970 - object.file.updatedAt.secondsSince1970 < Self.freshSeconds,
            backoff.pause(Self.secondLookPause, deadline: .after(Self.objectTime)),
            let present = try describe(objectID)
        {
            try compare(object, with: present)
            return nil
        }
        let found: StoredObject? = try patiently { storage throws(CloudStorageError) in
            var access = storage.access
            access.deadline = .after(Self.objectTime)
            for name in object.file.cloudNames {
                if let found = try storage.provider.find(name: name.rawValue, in: access) { return found }
            }
            return nil
        }
        // Was it replaced or deleted during the request?
        guard try isStillReferred(object) else { return nil }
        guard let found, try isFree(found, object) else {
            note(.objectMissing, object, "object \(objectID)")
            return nil
        }
        if !repairs {
            note(.objectReplaced, object, "object \(objectID), replaced by \(found.objectID)")
        } else if try adopt(found, as: object) {
            repaired(.objectReplaced)
            try compare(object, with: found)
        }
        return found.objectID
    }

    private func compare(_ object: ReferredObject, with present: StoredObject) throws {
        switch ObjectComparison(present, with: object.file) {
        case .equal, .alike: if reads { try read(present, as: object) }
        case .otherSize(let detail): note(.objectSizeDiffers, object, detail)
        case .otherHash(let detail): note(.objectChanged, object, detail)
        }
    }

    /// Reads a whole object, and reports contents that differ from the file's.
    private func read(_ present: StoredObject, as object: ReferredObject) throws {
        guard let expected = object.file.checkSum else { return }
        let found: CheckSum
        do throws(CloudStorageError) {
            found = try patiently { storage throws(CloudStorageError) in
                var storage = storage
                storage.access.deadline = .after(Self.objectTime)
                return try ContentReading.contents(of: present, in: storage) { true }
            }.checkSum
        } catch .notFound {
            return
        } catch .contentMismatch {
            return note(.objectChanged, object, "the contents do not match their description")
        }
        // Was it replaced or deleted during the read?
        guard found != expected, try isStillReferred(object) else { return }
        note(.objectChanged, object, "\(expected) here, \(found) read from the storage")
    }

    /// Whether a file still has the object that it had when its row was read.
    private func isStillReferred(_ object: ReferredObject) throws -> Bool {
        let present = try store.withSession { try $0.file(object.file.fileUUID, in: object.groupID) }
        return present?.objectID == object.file.objectID && present?.isDeleted == false
    }

    /// Whether the file may adopt an object: it is not about to be deleted.
    private func isFree(_ found: StoredObject, _ object: ReferredObject) throws -> Bool {
        try store.withSession { try !$0.isDoomed(found.objectID, of: object.file.owningUser) }
    }

    private func adopt(_ found: StoredObject, as object: ReferredObject) throws -> Bool {
        try store.transaction { session in
            let present = try session.file(object.file.fileUUID, in: object.groupID, locked: true)
            guard present?.objectID == object.file.objectID else { return false }
            return try session.adopt(
                objectID: found.objectID, revision: found.adoptedRevision, as: object.file, in: object.groupID)
        }
    }

    private func note(_ problem: CloudProblem, _ object: ReferredObject, _ detail: String) {
        report(problem, Violation(row: "file \(object.file.fileUUID) of group \(object.groupUUID)", detail: detail))
    }
}

/// How an object differs from the row of its file.
enum ObjectComparison: Equatable {
    /// The provider's hash matches the file's.
    case equal
    /// The provider reports no hash, or none is stored here, and nothing else differs.
    case alike
    case otherSize(String)
    case otherHash(String)

    /// Compares the provider's description with the row; values that either side does not know are skipped.
    init(_ object: StoredObject, with file: FileRecord) {
        if let size = file.sizeBytes, size != object.sizeBytes {
            self = .otherSize("\(size) bytes here, \(object.sizeBytes) there")
            return
        }
        // If the provider's hash is the checksum, no other hash is stored.
        let expected =
            file.providerHash ?? (file.owningUser.storageType.traits.reportsCheckSum ? file.checkSum?.rawValue : nil)
        guard let expected, let present = object.providerHash else {
            self = .alike
            return
        }
        self =
            expected.lowercased() == present.lowercased() ? .equal : .otherHash("\(expected) here, \(present) there")
    }

    /// Whether something differs.
    var isDifference: Bool {
        switch self {
        case .equal, .alike: false
        case .otherSize, .otherHash: true
        }
    }
}
