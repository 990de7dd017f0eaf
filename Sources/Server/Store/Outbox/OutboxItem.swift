import MariaDB
public import SyncProtocol

/// The number of a row of the outbox.
public struct OutboxID: Hashable, Sendable {
    public let rawValue: Int64
    package init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// Pending work in a cloud or at a push service.
public struct OutboxItem: Equatable, Sendable {
    public enum Kind: String, Equatable, Sendable, CaseIterable {
        case deleteObject
        case writeWarningFile
        /// Compute an object's hashes by reading it.
        case hashObject
        case sendPush
        case removePushTopic
        /// Revoke the person's grant at the provider.
        case revokeGrant
        /// Write the page that lists the contents of an owner's folder.
        case writeIndexPage
        /// Write the manifest of a group into an owner's folder.
        case writeManifest
        /// Read the manifests in an owner's folder, to restore their groups.
        case readManifests
    }

    /// The work to do.
    public enum Work: Equatable, Sendable {
        case inStorage(StorageWork, of: OwningUser)
        case sendPush(PushOrder)
        /// Remove a topic at SNS.
        case removePushTopic(String)
        case revokeGrant(AbandonedGrant)
        /// The work cannot be done: a column that its kind requires is missing.
        case incomplete(Kind)
    }

    public var id: OutboxID
    /// The user for whom the work is done; for a push to a group, its sender.
    public var userID: UserID
    public var work: Work
    /// The request that caused the work; `nil` if no request did, or an earlier release recorded it.
    public var requestID: String?
    /// How often it has been attempted.
    public var attempts: Int

    public var kind: Kind {
        switch work {
        case .inStorage(.deleteObject, _): .deleteObject
        case .inStorage(.writeWarningFile, _): .writeWarningFile
        case .inStorage(.hashObject, _): .hashObject
        case .inStorage(.writeIndexPage, _): .writeIndexPage
        case .inStorage(.writeManifest, _): .writeManifest
        case .inStorage(.readManifests, _): .readManifests
        case .sendPush: .sendPush
        case .removePushTopic: .removePushTopic
        case .revokeGrant: .revokeGrant
        case .incomplete(let kind): kind
        }
    }

    /// The owner of the affected storage; `nil` if the work affects no storage.
    public var owner: OwningUser? {
        if case .inStorage(_, let owner) = work { owner } else { nil }
    }
}

/// Work in the storage of a person.
public enum StorageWork: Equatable, Sendable {
    case deleteObject(ObjectReference)
    /// Has the identifier that an earlier attempt recorded for the file.
    case writeWarningFile(objectID: String?)
    case hashObject(objectID: String)
    case writeIndexPage
    case writeManifest(of: SharingGroupID)
    case readManifests
}

/// An object in storage, known by its identifier, by name, or by both.
public struct ObjectReference: Equatable, Sendable {
    public var objectID: String?
    /// The possible names, in the order of their use.
    public var names: [String]

    /// Never part of a name.
    private static let nameSeparator = "/"

    public init(objectID: String? = nil, names: [String] = []) {
        self.objectID = objectID
        self.names = names
    }

    init(objectID: String?, storedNames: String?) {
        self.init(
            objectID: objectID, names: storedNames?.split(separator: Self.nameSeparator).map(String.init) ?? [])
    }

    /// The names as the database stores them.
    var storedNames: String? { names.isEmpty ? nil : names.joined(separator: Self.nameSeparator) }
}

extension OutboxItem {
    /// The columns of `outbox` that ``init(_:)`` reads.
    static let columns: ColumnList = [
        "outbox_id", "kind", "user_id", "storage_type", "object_id", "object_name", "attempts", "push_target",
        "sharing_group_id", "registration_id", "message", "created_at", "credentials", "account_type", "request_id",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        let kind: Kind = try row.word("kind")
        id = OutboxID(try row.number("outbox_id"))
        userID = UserID(try row.number("user_id"))
        work = try Work(kind, for: userID, row) ?? .incomplete(kind)
        requestID = try row.optionalString("request_id")
        attempts = Int(try row.number("attempts"))
    }
}

extension OutboxItem.Work {
    /// `nil` if a column that the kind requires is missing.
    fileprivate init?(_ kind: OutboxItem.Kind, for userID: UserID, _ row: borrowing Row) throws(StoreError) {
        switch kind {
        case .deleteObject, .writeWarningFile, .hashObject, .writeIndexPage, .writeManifest, .readManifests:
            guard let storageType: CloudStorageType = try row.optionalWord("storage_type"),
                let work = try StorageWork(kind, row)
            else { return nil }
            self = .inStorage(work, of: OwningUser(userID: userID, storageType: storageType))
        case .sendPush:
            guard let order = try PushOrder(row) else { return nil }
            self = .sendPush(order)
        case .removePushTopic:
            guard let topic = try row.optionalString("object_name") else { return nil }
            self = .removePushTopic(topic)
        case .revokeGrant:
            guard let grant = try AbandonedGrant(row) else { return nil }
            self = .revokeGrant(grant)
        }
    }
}

extension StorageWork {
    /// `nil` if a column that the kind requires is missing, or if the row contains other work.
    fileprivate init?(_ kind: OutboxItem.Kind, _ row: borrowing Row) throws(StoreError) {
        let objectID = try row.optionalString("object_id")
        switch kind {
        case .deleteObject:
            let object = ObjectReference(objectID: objectID, storedNames: try row.optionalString("object_name"))
            guard object.objectID != nil || !object.names.isEmpty else { return nil }
            self = .deleteObject(object)
        case .writeWarningFile:
            self = .writeWarningFile(objectID: objectID)
        case .hashObject:
            guard let objectID else { return nil }
            self = .hashObject(objectID: objectID)
        case .writeIndexPage:
            self = .writeIndexPage
        case .writeManifest:
            guard let groupID: Int64 = try row.optionalNumber("sharing_group_id") else { return nil }
            self = .writeManifest(of: SharingGroupID(groupID))
        case .readManifests:
            self = .readManifests
        case .sendPush, .removePushTopic, .revokeGrant:
            return nil
        }
    }

    /// The values that a statement writes into the outbox columns that this kind of work uses.
    var columnValues: ColumnValues {
        switch self {
        case .deleteObject(let object):
            [
                "kind": .text(OutboxItem.Kind.deleteObject.rawValue), "object_id": .text(orNull: object.objectID),
                "object_name": .text(orNull: object.storedNames),
            ]
        case .writeWarningFile(let objectID):
            ["kind": .text(OutboxItem.Kind.writeWarningFile.rawValue), "object_id": .text(orNull: objectID)]
        case .hashObject(let objectID):
            ["kind": .text(OutboxItem.Kind.hashObject.rawValue), "object_id": .text(objectID)]
        case .writeIndexPage:
            ["kind": .text(OutboxItem.Kind.writeIndexPage.rawValue)]
        case .writeManifest(let groupID):
            [
                "kind": .text(OutboxItem.Kind.writeManifest.rawValue), "sharing_group_id": .int(groupID.rawValue),
            ]
        case .readManifests:
            ["kind": .text(OutboxItem.Kind.readManifests.rawValue)]
        }
    }
}
