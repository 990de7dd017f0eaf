public import SyncProtocol
import UntrustedInput

/// One kind of cloud storage in which people keep their files.
///
/// The comments here are the contract that every provider fulfils and that `CloudProviderContract` tests.
///
/// - Every call ends by the deadline of the ``StorageAccess`` it is given, except that a body may take as long as it flows:
///   each part of an upload has, from its arrival, the time that was left when the upload began, and so has each
///   interruption of a download.
/// - Every call may be repeated: the result of a repetition is that of the first call.
/// - Every call renews an access token that is refused, and gives up if the renewed one is refused at once; repeats what
///   is transient with back-off while the deadline allows; and throws nothing but ``CloudStorageError``.
/// - Objects are addressed by the provider's own identifier. Names serve people, and recovery.
public protocol CloudProvider: Sendable {
    var storageType: CloudStorageType { get }

    /// Decides what a new object will be called and, where the provider allows it, its identifier.
    ///
    /// What is returned is enough to find and delete the object later, so the caller records it before any byte is sent.
    /// Nothing is created except the folder in which the object will lie. Where names are unique, the reservation has a
    /// spare name that nobody else uses.
    func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation

    /// Stores `content` under `reservation`.
    ///
    /// The object comes into being only when the last part, which ``UploadContent`` hands out after it has verified
    /// the whole, has been accepted. If the content ends early, nothing is left behind that the person could see.
    ///
    /// Where names are unique, an object of that name with the same contents counts as stored; if its contents differ, it
    /// stays as it is, and the new object gets the reservation's spare name.
    /// - Throws: ``CloudStorageError/contentFailed(_:)`` with what the content threw;
    ///   ``CloudStorageError/contentMismatch`` if the provider reports another hash than that of the bytes sent: the
    ///   object may exist then, and the caller deletes it. The same if every name of the reservation is taken.
    func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject

    /// What the provider knows about an object now, wherever its owner has moved it and whatever its name is.
    /// - Throws: ``CloudStorageError/notFound``.
    func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject

    /// Hands over an object's bytes in order.
    ///
    /// - Parameter receive: takes the next bytes; `false` ends the download with
    ///   ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` also if the provider sent fewer bytes than it announced.
    func download(
        objectID: String, from access: StorageAccess, receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError)

    /// Deletes an object for good; an object that does not exist counts as deleted.
    func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError)

    /// Looks for an object by its name in the folder where we keep files.
    ///
    /// For recovery only. Where names may repeat, the object made first is returned; `nil` if there is none.
    func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject?

    /// Hands over everything that lies in the folder where we keep files, in pages, in no particular order; nothing if there
    /// is no such folder. For examination only: what comes or goes meanwhile may be missing.
    func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError)
}

/// Where a new object will lie.
public struct ObjectReservation: Equatable, Sendable {
    /// The object's name in the person's folder.
    public var name: String
    /// The name it gets instead if another object has ``name`` already; `nil` where names may repeat.
    public var spareName: String?
    /// The identifier it will have, if the provider lets us choose it beforehand.
    public var objectID: String?
    /// The folder's identifier, if the provider addresses folders by one.
    public var folderID: String?

    public init(name: String, objectID: String?, folderID: String? = nil, spareName: String? = nil) {
        self.name = name
        self.spareName = spareName
        self.objectID = objectID
        self.folderID = folderID
    }
}

/// An object as its provider describes it.
public struct StoredObject: Equatable, Sendable {
    public var objectID: String
    public var name: String
    public var sizeBytes: Int64
    /// The provider's own hash, in the provider's own spelling; `nil` if it has not computed one yet.
    public var providerHash: String?
    /// Changes whenever the contents change; `nil` if the provider does not tell.
    public var revision: String?

    public init(objectID: String, name: String, sizeBytes: Int64, providerHash: String?, revision: String?) {
        self.objectID = objectID
        self.name = name
        self.sizeBytes = sizeBytes
        self.providerHash = providerHash
        self.revision = revision
    }

    /// As much as the database keeps of an identifier; providers' have 20 to 80 characters.
    static let maximumIdentifierLength = 255
    private static let maximumHashLength = 64

    /// Whether an object can be as it is described: nothing negative, nothing that is longer than what is kept.
    var isPlausible: Bool {
        objectID.isIdentifier(upTo: Self.maximumIdentifierLength) && sizeBytes >= 0
            && (providerHash.map { $0.isIdentifier(upTo: Self.maximumHashLength) } ?? true)
            && (revision.map { $0.isIdentifier(upTo: Self.maximumIdentifierLength) } ?? true)
    }
}

extension CloudStorageType {
    /// Whether the provider's own hash is the checksum that clients compare; if not, that is known only to whoever has read
    /// the bytes.
    public var reportsCheckSum: Bool { self != .microsoft }
}
