public import HTTPTransport
import Logging
import Providers
public import Store
public import SyncProtocol
public import Vault

/// Asks owners' storages, by a deadline, what they have of one file.
///
/// Two or three requests for each group of the file, which is one except for groups of older servers. Changes nothing but
/// the tokens that it has to renew.
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

    /// What the storages say of a file, for each group where it exists, whose owner is known, and whose bytes should be
    /// there.
    /// - Throws: ``StoreError``.
    public func ask(about file: FileUUID) throws -> [CloudAnswer] {
        try store.withSession { try $0.referredObjects(file: file) }
            .filter { $0.file.contentState == .stored }.compactMap(answer(about:))
    }

    /// - Returns: `nil` if the owner is no user anymore, so that there is nobody to ask.
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
        // As downloads do.
        let name = file.cloudName(.standard).rawValue
        guard let found = try opened.provider.find(name: name, in: opened.access),
            try store.withSession({ try !$0.isDoomed(found.objectID, of: file.owningUser) })
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
            // Somebody may have read it as it is.
            let known = try store.withSession { try $0.knownContent(of: object.objectID, in: file.owningUser) }
            guard let known, known.providerHash == object.contentMark, let expected = file.checkSum else {
                return (.alike, nil)
            }
            return known.checkSum == expected
                ? (.present, nil) : (.changed, "\(expected) here, \(known.checkSum) read there")
        }
    }
}

extension CloudStorageError {
    /// Why a storage cannot be examined, for operators; without the provider's own text.
    var operatorsWord: String {
        switch self {
        case .authorizationRevoked: "it refuses the server's tokens, or there are none"
        case .rateLimited: "the provider asks us to wait"
        case .timedOut: "timed out"
        case .rejected(let code): "rejected: \(code)"
        case .termsNotAccepted: "the owner has to accept the server's terms of service"
        case .serverNotAllowed: "the configuration does not admit the server"
        case .localFailure: "the tokens cannot be read"
        default: "unavailable"
        }
    }
}
