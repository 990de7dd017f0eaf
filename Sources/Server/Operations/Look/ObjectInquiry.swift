public import HTTPTransport
import Logging
import Providers
public import Store
public import SyncProtocol
public import Vault

/// Asks owners' storages about the contents of one file, until a deadline. It sends two or three requests for each
/// group of the file; only files from older servers are in several groups. It changes nothing except tokens that it has
/// to renew.
public struct ObjectInquiry {
    private let store: MetadataStore
    private let storage: StorageRegistry
    private let transport: Transport
    private let deadline: Deadline

    /// - Parameter deadline: for all storages together.
    public init(store: MetadataStore, storage: StorageRegistry, transport: Transport, deadline: Deadline) {
        self.store = store
        self.storage = storage
        self.transport = transport
        self.deadline = deadline
    }

    /// The storages' replies about a file, for each group in which it exists, its owner is known, and its contents
    /// should be stored.
    /// - Throws: ``StoreError``.
    public func ask(about file: FileUUID) throws -> [CloudAnswer] {
        try store.withSession { try $0.referredObjects(file: file) }
            .filter { $0.file.contentState == .stored }.compactMap(answer(about:))
    }

    /// - Returns: `nil` if the owner is no longer a user.
    private func answer(about object: ReferredObject) throws -> CloudAnswer? {
        let owner = object.file.owningUser.userID
        guard let user = try store.withSession({ try $0.user(owner) }) else { return nil }
        var answer = CloudAnswer(sharingGroupUUID: object.groupUUID, finding: .present, askedAt: store.now)
        do {
            let opened = try storage.storage(
                of: user, transport: transport, deadline: deadline, logger: Logger.silent)
            (answer.finding, answer.detail) = try finding(about: object, in: opened)
        } catch let error as CloudStorageError {
            if case .authorizationRevoked = error {
                answer.finding = .refused
            } else {
                (answer.finding, answer.detail) = (.unavailable, error.operatorsWord)
            }
        }
        return answer
    }

    private func finding(
        about object: ReferredObject, in opened: UserStorage
    ) throws -> (CloudAnswer.Finding, detail: String?) {
        let file = object.file
        if let objectID = file.objectID {
            var described: StoredObject?
            do throws(CloudStorageError) {
                described = try opened.provider.describe(objectID: objectID, in: opened.access)
            } catch .notFound {}
            if let described { return try compare(described, with: file) }
        }
        // The same lookup as in downloads.
        var named: StoredObject?
        for name in file.cloudNames where named == nil {
            named = try opened.provider.find(name: name.rawValue, in: opened.access)
        }
        guard let found = named, try store.withSession({ try !$0.isDoomed(found.objectID, of: file.owningUser) })
        else { return (.missing, nil) }
        if file.objectID == nil { return try compare(found, with: file) }
        return (.replaced, "object \(found.objectID)")
    }

    private func compare(
        _ object: StoredObject, with file: FileRecord
    ) throws -> (CloudAnswer.Finding, detail: String?) {
        switch ObjectComparison(object, with: file) {
        case .otherSize(let detail), .otherHash(let detail): return (.changed, detail)
        case .equal: return (object.isInBin ? .inBin : .present, nil)
        case .alike:
            if object.isInBin { return (.inBin, nil) }
            // The object may have been read and hashed in its current state.
            let known = try store.withSession { try $0.knownContent(of: object.objectID, in: file.owningUser) }
            guard let known, known.providerHash == object.contentMark, let expected = file.checkSum else {
                return (.alike, nil)
            }
            return known.checkSum == expected
                ? (.present, nil) : (.changed, "\(expected) here, \(known.checkSum) read from the storage")
        }
    }
}

extension CloudStorageError {
    /// Why a storage cannot be examined, for operators; without the provider's own text.
    var operatorsWord: String {
        switch self {
        case .authorizationRevoked: "it rejects the server's tokens, or there are none"
        case .rateLimited: "the provider limits the rate of requests"
        case .timedOut: "timed out"
        case .rejected(let code): "rejected: \(code)"
        case .termsNotAccepted: "the owner has to accept the server's terms of service"
        case .serverNotAllowed: "the configuration does not allow the owner's server"
        case .localFailure: "the tokens cannot be read"
        default: "unavailable"
        }
    }
}

/// The reply of an owner's storage about the contents of a file.
public struct CloudAnswer: Equatable, Sendable, Encodable {
    public enum Finding: String, Equatable, Sendable, Encodable {
        /// The contents exist unchanged, according to the storage's hash or a full read.
        case present
        /// The contents exist with the same size; only a full read would show whether they are unchanged.
        case alike
        /// The object is in the bin.
        case inBin
        /// The object exists, but its size or hash differs from the upload.
        case changed
        /// The object is gone, and another one has its name; the next download uses that one for the file.
        case replaced
        /// Neither the object nor another one with its name exists.
        case missing
        /// The storage rejects the server's tokens, or there are none.
        case refused
        /// The storage could not be asked in time.
        case unavailable
    }

    public var sharingGroupUUID: SharingGroupUUID
    public var finding: Finding
    /// The difference, or why the storage could not be asked; absent if there are no details.
    public var detail: String?
    public var askedAt: WireDate

    public init(sharingGroupUUID: SharingGroupUUID, finding: Finding, detail: String? = nil, askedAt: WireDate) {
        self.sharingGroupUUID = sharingGroupUUID
        self.finding = finding
        self.detail = detail
        self.askedAt = askedAt
    }
}
