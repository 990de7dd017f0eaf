public import SyncProtocol
import UntrustedInput

/// One kind of cloud storage in which people keep their files.
///
/// The comments here are the contract that every provider fulfils and that `CloudProviderContract` tests.
///
/// - Every call ends by the deadline of the ``StorageAccess`` it is given, except that a body may take as long as data
///   keeps flowing: each part of an upload has, from its arrival, the time that was left when the upload began, and so
///   has each interruption of a download.
/// - Every call may be repeated: the result of a repetition is that of the first call.
/// - Every call renews an access token that is rejected, and gives up if the renewed one is rejected at once; retries
///   transient failures with back-off while the deadline allows; and throws nothing but ``CloudStorageError``.
/// - Objects are addressed by the provider's own identifier. Names are for people, and for recovery.
public protocol CloudProvider: Sendable {
    var storageType: CloudStorageType { get }

    /// Decides what a new object will be called and, where the provider allows it, its identifier.
    ///
    /// What is returned is enough to find and delete the object later, so the caller records it before any byte is
    /// sent. Nothing is created except the folder that will contain the object. Where names are unique, the reservation
    /// has a spare name that nobody else uses.
    func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation

    /// Stores `content` under `reservation`.
    ///
    /// The object is created only when the last part, which ``UploadContent`` hands out after it has verified the
    /// whole, has been accepted. If the content ends early, nothing visible to the person is left behind.
    ///
    /// Where names are unique, an object of that name with the same contents counts as stored; if its contents differ,
    /// it stays as it is, and the new object gets the reservation's spare name.
    /// - Throws: ``CloudStorageError/contentFailed(_:)`` with what the content threw;
    ///   ``CloudStorageError/contentMismatch`` if the provider reports another hash than that of the bytes sent: the
    ///   object may exist then, and the caller deletes it. The same if every name of the reservation is taken.
    func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject

    /// What the provider knows about an object now, wherever its owner has moved it and whatever they have named it.
    /// - Throws: ``CloudStorageError/notFound``.
    func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject

    /// Hands over an object's bytes, or some of them, in order and each once.
    ///
    /// Of a range only its bytes are requested; where the provider sends all bytes nevertheless, those outside the range
    /// are dropped, and the transfer ends with the last one inside.
    ///
    /// - Parameters:
    ///   - range: the positions of the first and the last byte wanted; `nil`: all bytes.
    ///   - begin: called once, before the first byte, with the length of the whole object; `nil` if the provider does
    ///     not announce it. It takes precedence over ``StoredObject/sizeBytes``, which the provider may have counted
    ///     differently.
    ///   - receive: takes the next bytes; `false` ends the download with ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` also if the provider sent fewer bytes than it announced;
    ///   ``CloudStorageError/contentMismatch`` if the object ends before the range does.
    func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError)

    /// Deletes an object for good; an object that does not exist counts as deleted.
    func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError)

    /// Looks for an object by its name in the folder where we keep files.
    ///
    /// For recovery only. Where names may repeat, the object created first is returned; `nil` if there is none.
    func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject?

    /// Ends an upload in several requests that nobody goes on with, by what ``UploadResumption`` has recorded of it last; one that
    /// is not there counts as ended. Does nothing where the provider ends such uploads itself after a while.
    func endUpload(_ session: String, in access: StorageAccess) throws(CloudStorageError)

    /// Hands over everything in the folder where we keep files, in pages, in no particular order; nothing if there is
    /// no such folder. For checks only: objects that are created or deleted meanwhile may be missing.
    func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError)
}

extension CloudProvider {
    public func endUpload(_ session: String, in access: StorageAccess) throws(CloudStorageError) {}

    /// All bytes; for a caller that does not need to know the length beforehand, without `begin`.
    public func download(
        objectID: String, from access: StorageAccess, begin: (Int64?) -> Void = { _ in },
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        try download(objectID: objectID, range: nil, from: access, begin: begin, receive: receive)
    }
}

/// Where a new object will be stored.
public struct ObjectReservation: Equatable, Sendable {
    /// The object's name in the person's folder.
    public var name: String
    /// The name it gets instead if another object already has ``name``; `nil` where names may repeat.
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
    /// Changes whenever the contents change; `nil` if the provider does not report one.
    public var revision: String?
    /// SHA-256 of the contents, if the provider reports it without being asked to compute anything.
    public var sha256: [UInt8]?
    /// When the object came into being, or last changed if the provider does not report that; `nil` if it reports
    /// neither.
    public var createdAt: WireDate?
    /// Whether it is in the storage's bin, from which it can still be read for a while; `false` where things in the bin
    /// cannot be described.
    public var isInBin: Bool

    public init(
        objectID: String, name: String, sizeBytes: Int64, providerHash: String?, revision: String?,
        sha256: [UInt8]? = nil, createdAt: WireDate? = nil, isInBin: Bool = false
    ) {
        self.objectID = objectID
        self.name = name
        self.sizeBytes = sizeBytes
        self.providerHash = providerHash
        self.revision = revision
        self.sha256 = sha256
        self.createdAt = createdAt
        self.isInBin = isInBin
    }

    /// Longest identifier that the database stores; providers' have 20 to 80 characters.
    static let maximumIdentifierLength = 255
    private static let maximumHashLength = 64

    /// Whether the description is plausible: nothing negative, nothing longer than what is stored.
    var isPlausible: Bool {
        objectID.isIdentifier(upTo: Self.maximumIdentifierLength) && sizeBytes >= 0
            && (providerHash.map { $0.isIdentifier(upTo: Self.maximumHashLength) } ?? true)
            && (revision.map { $0.isIdentifier(upTo: Self.maximumIdentifierLength) } ?? true)
    }
}

extension CloudStorageType {
    /// Whether the provider's own hash is the checksum that clients compare; if not, only a reader of the bytes knows
    /// that checksum.
    public var reportsCheckSum: Bool { self != .microsoft && self != .webDAV }

    /// Whether the provider may know no hash of an object that was put there by others, although it reports that of ours: then
    /// only a reader of the bytes knows it, too.
    public var mayReportNoHash: Bool { self == .s3 }

    /// Whether the provider may need some time after an upload until it reports its hash, instead of never reporting any.
    public var reportsHashLate: Bool { self == .microsoft }
}
