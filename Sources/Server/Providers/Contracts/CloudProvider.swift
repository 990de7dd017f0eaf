public import SyncProtocol
import UntrustedInput

/// A kind of cloud storage in which people keep their files.
///
/// The comments here are the contract that every provider fulfils; `CloudProviderContract` tests it.
///
/// - Every call ends by the deadline of its ``StorageAccess``, except that a body may take as long as data keeps
///   flowing: each part of an upload gets, from its arrival, the time that was left when the upload began, and so does
///   each interruption of a download.
/// - Every call may be repeated; a repetition has the result of the first call.
/// - Every call renews a rejected access token, and gives up if the provider rejects the renewed one at once; retries
///   transient failures with back-off while the deadline allows; and throws only ``CloudStorageError``.
/// - Objects are addressed by the provider's own identifier. Names are for people and for recovery.
public protocol CloudProvider: Sendable {
    var storageType: CloudStorageType { get }

    /// Decides the name of a new object and, where the provider allows it, its identifier.
    ///
    /// The reservation suffices to find and delete the object later, so the caller records it before sending any byte.
    /// The call creates nothing except the folder that will contain the object. Where names are unique, the reservation
    /// has a spare name that nobody else uses.
    func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation

    /// Stores `content` under `reservation`.
    ///
    /// The object is created only when the provider has accepted the last part, which ``UploadContent`` hands out after
    /// it has verified the whole content. If the content ends early, nothing visible to the person remains.
    ///
    /// Where names are unique, an object with that name and the same contents counts as stored; if its contents differ,
    /// it is left unchanged, and the new object gets the reservation's spare name.
    /// - Throws: ``CloudStorageError/contentFailed(_:)`` with the error that the content threw;
    ///   ``CloudStorageError/contentMismatch`` if the provider reports a hash that differs from that of the bytes sent
    ///   (the object may exist in that case, and the caller deletes it), or if every name of the reservation is taken.
    func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject

    /// The provider's current description of an object, wherever its owner has moved it and however they have renamed
    /// it.
    /// - Throws: ``CloudStorageError/notFound``.
    func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject

    /// Hands over an object's bytes, or a range of them, in order and each once.
    ///
    /// For a range, only its bytes are requested; if the provider sends all bytes nevertheless, those outside the range
    /// are dropped, and the transfer ends with the last byte of the range.
    ///
    /// - Parameters:
    ///   - range: the positions of the first and the last byte to read; `nil` for all bytes.
    ///   - begin: called once, before the first byte, with the length of the whole object, or `nil` if the provider
    ///     does not announce it. This length takes precedence over ``StoredObject/sizeBytes``, which the provider may
    ///     have counted differently.
    ///   - receive: receives the next bytes; `false` ends the download with ``CloudStorageError/downloadCancelled``.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` also if the provider sent fewer bytes than it announced;
    ///   ``CloudStorageError/contentMismatch`` if the object ends before the range does.
    func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError)

    /// Deletes an object permanently; an object that does not exist counts as deleted.
    func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError)

    /// Looks for an object by its name in our folder.
    ///
    /// For recovery only. Where names may repeat, returns the object created first; `nil` if no object has the name.
    func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject?

    /// Ends an abandoned upload of several requests, identified by the last record in its ``UploadResumption``; an
    /// upload that does not exist counts as ended. Does nothing if the provider ends such uploads itself after a while.
    func endUpload(_ session: String, in access: StorageAccess) throws(CloudStorageError)

    /// Hands over all objects in our folder, in pages and in no particular order; none if the folder does not exist.
    /// For checks only: objects that are created or deleted meanwhile may be missing.
    func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError)
}

extension CloudProvider {
    public func endUpload(_ session: String, in access: StorageAccess) throws(CloudStorageError) {}

    /// Hands over all bytes; `begin` is optional, for callers that do not need the length beforehand.
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
    /// The name that the object gets if a different object already has ``name``; `nil` where names may repeat.
    public var spareName: String?
    /// The object's identifier, if the provider lets us choose it beforehand.
    public var objectID: String?
    /// The folder's identifier, if the provider addresses folders by identifier.
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
    /// SHA-256 of the contents, if the provider reports it without computing it on request.
    public var sha256: [UInt8]?
    /// The creation time or, if the provider does not report that, the time of the last change; `nil` if it reports
    /// neither.
    public var createdAt: WireDate?
    /// Whether the object is in the storage's bin, where it can still be read for a while; `false` where objects in the
    /// bin cannot be described.
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

    /// The longest identifier that the database stores; providers' identifiers have 20 to 80 characters.
    static let maximumIdentifierLength = 255
    private static let maximumHashLength = 64

    /// Whether the description is plausible: no negative numbers, and no text too long to store.
    var isPlausible: Bool {
        objectID.isIdentifier(upTo: Self.maximumIdentifierLength) && sizeBytes >= 0
            && (providerHash.map { $0.isIdentifier(upTo: Self.maximumHashLength) } ?? true)
            && (revision.map { $0.isIdentifier(upTo: Self.maximumIdentifierLength) } ?? true)
    }
}

extension CloudStorageType {
    /// Whether the provider's own hash is the checksum that clients compare; if not, the bytes must be read to compute
    /// that checksum.
    public var reportsCheckSum: Bool { self != .microsoft && self != .webDAV }

    /// Whether the provider may report no hash for an object uploaded by others, although it reports one for ours. In
    /// that case, the bytes must be read to compute it.
    public var mayReportNoHash: Bool { self == .s3 }

    /// Whether the provider may report its hash only some time after an upload.
    public var reportsHashLate: Bool { self == .microsoft }
}
