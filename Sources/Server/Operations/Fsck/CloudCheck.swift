public import HTTPTransport
import Logging
import Providers
public import Store
public import SyncProtocol
public import Vault

/// Checks in the clouds whether the objects that files refer to exist, with the files' bytes, and whether any of our
/// objects are orphaned.
///
/// One request per object, sequentially, so that providers do not throttle the server's own work.
public struct CloudCheck {
    private static let page = 200
    private static let objectTime: Duration = .seconds(40)
    /// For all pages of one person's folder.
    private static let listingTime: Duration = .seconds(1_800)

    private let store: MetadataStore
    private let storage: StorageRegistry
    private let transport: Transport
    private let rowLimit: Int
    private var rows: [Problem: [Violation]] = [:]
    private var storages: [UserID: UserStorage?] = [:]
    private var isHopeless: Set<UserID> = []

    /// What can be wrong with an object.
    private enum Problem: String, CaseIterable {
        case objectMissing
        case objectSizeDiffers
        case objectChanged
        case objectUnknown
        case storageRefused
        case storageUnavailable

        var judgement: Judgement {
            switch self {
            case .objectMissing:
                Judgement(.error, "An object is not in its owner's storage: phones are told it is gone.")
            case .objectSizeDiffers:
                Judgement(.warning, "An object has another size than the file: somebody has changed it there.")
            case .objectChanged:
                Judgement(.warning, "An object has another hash than the file: somebody has changed it there.")
            case .objectUnknown:
                Judgement(
                    .warning,
                    "An object has a name of ours, but nothing refers to it: left over, or copied there by its owner.")
            case .storageRefused:
                Judgement(.warning, "A storage refuses the server; the owner has to sign in again. Not checked.")
            case .storageUnavailable: Judgement(.warning, "A provider did not answer. Not checked; try again.")
            }
        }
    }

    public init(store: MetadataStore, storage: StorageRegistry, transport: Transport, rowLimit: Int) {
        self.store = store
        self.storage = storage
        self.transport = transport
        self.rowLimit = rowLimit
    }

    /// Checks the objects of all living files, or of those of one owner or group.
    /// - Parameter progress: called after each object with their number so far.
    /// - Throws: ``StoreError``.
    public mutating func run(
        owner: UserID?, group: SharingGroupUUID?, progress: (Int) -> Void = { _ in }
    ) throws -> (findings: [Finding], objects: Int) {
        var checked = 0
        var last: ReferredObject?
        while true {
            let objects = try store.withSession { session in
                try session.referredObjects(owner: owner, group: group, after: last, limit: Self.page)
            }
            for object in objects {
                try check(object)
                checked += 1
                progress(checked)
            }
            last = objects.last
            if objects.count < Self.page { break }
        }
        if group == nil {
            if let owner { try lookThrough(owner) } else { try lookThroughAll() }
        }
        let findings = Problem.allCases.compactMap { problem -> Finding? in
            guard let rows = rows[problem] else { return nil }
            return Finding(
                code: problem.rawValue, severity: problem.judgement.severity, meaning: problem.judgement.meaning,
                rows: Array(rows.prefix(rowLimit)), more: rows.count > rowLimit)
        }
        return (findings, checked)
    }

    private mutating func check(_ object: ReferredObject) throws {
        let owner = object.file.owningUser.userID
        guard let objectID = object.file.objectID, !isHopeless.contains(owner) else { return }
        do {
            guard var storage = try storage(of: owner) else {
                note(.storageRefused, object, "user \(owner) does not exist or may not sign in")
                isHopeless.insert(owner)
                return
            }
            storage.access.deadline = .after(Self.objectTime)
            compare(object, with: try storage.provider.describe(objectID: objectID, in: storage.access))
        } catch CloudStorageError.notFound {
            // Replaced or deleted while we asked?
            let present = try store.withSession { try $0.file(object.file.fileUUID, in: object.groupID) }
            if present?.objectID == objectID { note(.objectMissing, object, "object \(objectID)") }
        } catch CloudStorageError.authorizationRevoked {
            note(.storageRefused, object, "user \(owner)")
            isHopeless.insert(owner)
        } catch let error as CloudStorageError {
            note(.storageUnavailable, object, "object \(objectID): \(Self.word(for: error))")
        }
    }

    // MARK: Orphaned objects

    private mutating func lookThroughAll() throws {
        var last: UserID?
        while true {
            let owners = try store.withSession { try $0.owners(after: last, limit: Self.page) }
            for owner in owners { try lookThrough(owner) }
            last = owners.last
            if owners.count < Self.page { return }
        }
    }

    /// Looks for objects with our names in an owner's folder that no row refers to.
    private mutating func lookThrough(_ owner: UserID) throws {
        guard !isHopeless.contains(owner) else { return }
        do {
            guard var storage = try storage(of: owner) else { return }
            storage.access.deadline = .after(Self.listingTime)
            var objects: [StoredObject] = []
            try storage.provider.list(in: storage.access) { page in objects += page }
            for object in objects {
                guard let name = CloudFileName(Self.plainName(of: object.name)) else { continue }
                let isKnown = try store.withSession { session in
                    try session.isKnown(object.objectID, named: name, actualName: object.name, of: owner)
                }
                if isKnown { continue }
                // Deleted since it was listed?
                storage.access.deadline = .after(Self.objectTime)
                do { _ = try storage.provider.describe(objectID: object.objectID, in: storage.access) } catch .notFound
                {
                    continue
                }
                rows[.objectUnknown, default: []].append(
                    Violation(
                        row: "object \(object.objectID) of user \(owner)",
                        detail: "\(object.name), \(object.sizeBytes) bytes"))
            }
        } catch CloudStorageError.authorizationRevoked {
            rows[.storageRefused, default: []].append(Violation(row: "user \(owner)", detail: "the folder"))
            isHopeless.insert(owner)
        } catch let error as CloudStorageError {
            rows[.storageUnavailable, default: []].append(
                Violation(row: "user \(owner)", detail: "the folder: \(Self.word(for: error))"))
        }
    }

    /// A name without the suffix of a spare name: `~` and eight hexadecimal digits before its extension.
    static func plainName(of name: String) -> String {
        guard let mark = name.lastIndex(of: "~") else { return name }
        let digits = name[name.index(after: mark)...].prefix { $0.isHexDigit }
        let rest = name[digits.endIndex...]
        guard digits.count == 8, rest.first == "." else { return name }
        return String(name[..<mark] + rest)
    }

    private mutating func storage(of owner: UserID) throws -> UserStorage? {
        if let known = storages[owner] { return known }
        let user = try store.withSession { try $0.user(owner) }
        let found = try user.map {
            try storage.storage(
                of: $0, transport: transport, deadline: .after(Self.objectTime), logger: Logger.silent)
        }
        storages[owner] = found
        return found
    }

    private mutating func compare(_ object: ReferredObject, with stored: StoredObject) {
        if let size = object.file.sizeBytes, size != stored.sizeBytes {
            return note(.objectSizeDiffers, object, "\(size) bytes here, \(stored.sizeBytes) there")
        }
        // Where the provider's hash is the checksum, no other is stored.
        let expected =
            object.file.providerHash
            ?? (object.file.owningUser.storageType.reportsCheckSum ? object.file.checkSum?.rawValue : nil)
        guard let expected, let present = stored.providerHash, expected.lowercased() != present.lowercased() else {
            return
        }
        note(.objectChanged, object, "\(expected) here, \(present) there")
    }

    private mutating func note(_ problem: Problem, _ object: ReferredObject, _ detail: String) {
        rows[problem, default: []].append(
            Violation(row: "file \(object.file.fileUUID) of group \(object.groupUUID)", detail: detail))
    }

    private static func word(for error: CloudStorageError) -> String {
        switch error {
        case .rateLimited: "the provider asks us to wait"
        case .timedOut: "timed out"
        case .rejected(let code): "rejected: \(code)"
        case .localFailure: "the tokens cannot be read"
        default: "unavailable"
        }
    }
}

extension Logger {
    /// For library code that logs for server operators: a command does its own reporting.
    static var silent: Logger { Logger(label: "syncctl", factory: { _ in SwiftLogNoOpLogHandler() }) }
}
