public import HTTPTransport
import OpenSSLCrypto
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
    /// - Throws: ``CloudStorageError``; it is ``CloudStorageError/unavailable(detail:)`` if the provider sent fewer
    ///   bytes than it announced, and ``CloudStorageError/contentMismatch`` if the object ends before the range does.
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

/// Operations that people perform in their own storage without the server, through the same interface and with the same
/// tokens.
///
/// The server itself never calls them. `syncctl try` does, in place of the owner of a test account, to check how the
/// server handles the results.
public protocol OwnerOperations: CloudProvider {
    /// Renames an object within its folder.
    /// - Returns: whether the object keeps its identifier; if not, the new name identifies it from now on.
    /// - Throws: ``CloudStorageError/notFound``.
    func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool

    /// The number of bytes that the storage can still store; `nil` if the provider does not report it, as some
    /// providers do not for some accounts.
    func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64?

    /// Removes our folder, which must be empty; does nothing if it is not ours to remove.
    func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError)
}

extension OwnerOperations {
    public func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError) {}
}

/// Storage to which people send bytes themselves, at an address that the provider issues for one object.
///
/// The holder of such an address may create that object and nothing else. Only a request to the provider reveals what
/// they have sent: by then the object exists, and it is checked like any object created by others.
public protocol DirectUploads: CloudProvider {
    /// The longest time for which an address works, in seconds, unless ``UploadAddress/expires`` is later.
    var longestUploadAddressSeconds: Int64 { get }

    /// Obtains an address for the content of one object.
    ///
    /// The caller has recorded the reservation, as for ``CloudProvider/upload(_:as:mimeType:to:)``. The reservation has
    /// no spare name: an object found under its name must have been sent to this address.
    /// - Returns: `nil` if the provider does not accept content of that length in this way.
    func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress?

    /// The address of an existing upload.
    /// - Parameter session: ``UploadAddress/session`` of an earlier address, or the latest record of
    ///   ``UploadResumption``.
    /// - Returns: `nil` if the bytes are not sent to an address.
    func uploadAddress(in session: String, mimeType: String) -> UploadAddress?

    /// The object created through an address; `nil` if none exists yet. Its content may be anything.
    func directlyUploaded(
        as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject?

    /// Invalidates an address.
    /// - Returns: whether the address can no longer be used; if not, it works until it expires.
    func endDirectUpload(
        _ session: String, as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool
}

/// Storage from which people read bytes themselves, at an address that the provider issues for one object.
public protocol DirectDownloads: CloudProvider {
    /// An address of an object's current bytes; its holder may read them without any other authorization.
    /// - Throws: ``CloudStorageError/notFound``.
    func downloadAddress(of objectID: String, in access: StorageAccess) throws(CloudStorageError) -> DownloadAddress
}

/// Where to send the bytes of one object.
public struct UploadAddress: Equatable, Sendable {
    /// What the provider's adapter needs to recognize the upload or to continue it; secret.
    public var session: String
    public var url: String
    public var form: DirectUpload.Form
    /// The `Content-Type` of requests to it.
    public var contentType: String
    /// The length of each request's body except the last must be a multiple of this; `nil` if there is only one
    /// request.
    public var granularityBytes: Int64?
    /// When the address expires, if the provider reports it.
    public var expires: WireDate?
}

/// Where to read the bytes of one object.
public struct DownloadAddress: Equatable, Sendable {
    public var url: String
    /// The longest time for which the address works, in seconds.
    public var lifetimeSeconds: Int64
}

/// What a provider needs to act on one person's storage for the duration of one request.
public struct StorageAccess {
    public var transport: Transport
    /// The person's access token, and how to renew it.
    public var tokens: any AccessTokens
    /// The folder that contains the person's files, for providers that have one.
    public var folder: any FolderMemory
    public var deadline: Deadline
    /// How to wait between attempts.
    public var backoff: Backoff

    public init(
        transport: Transport, tokens: any AccessTokens, folder: any FolderMemory, deadline: Deadline, backoff: Backoff
    ) {
        self.transport = transport
        self.tokens = tokens
        self.folder = folder
        self.deadline = deadline
        self.backoff = backoff
    }
}

/// An access token, and the location of the storage that it opens.
public struct AccessToken: Equatable, Sendable {
    public var text: String
    /// In the form of ``StoredCredentials/location``; `nil` for companies' storages, whose adapters know it.
    public var location: String?

    public init(_ text: String, at location: String? = nil) {
        self.text = text
        self.location = location
    }
}

/// One person's access token.
public protocol AccessTokens: AnyObject {
    /// Distinguishes accounts for caches within this process.
    var accountKey: Int64 { get }
    /// The token to try first.
    func current() throws(CloudStorageError) -> AccessToken
    /// A token that differs from `rejected`: another process may have renewed it already; otherwise it is renewed now.
    ///
    /// - Parameter deadline: the deadline of the renewal; a long operation may need a new token after the request's own
    ///   deadline.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if the provider reports that no renewal is possible; a
    ///   different error if it could not be asked.
    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken
}

/// Remembers the location of a person's folder for all processes.
public protocol FolderMemory: AnyObject {
    /// The name that the person chose when they signed up; `nil` if their account type has no folder.
    var name: String? { get }
    /// The identifier of the folder, once it is known.
    var folderID: String? { get }
    /// Replaces `old` by `new` unless another process was faster, and returns the current value.
    func replace(_ old: String?, by new: String) throws(CloudStorageError) -> String
    /// Whether the folder should be verified before it is used; true at most once every few minutes.
    func isDueForVerification() -> Bool
    /// Called if the provider cannot find the folder: the next ``isDueForVerification()`` returns true.
    func markDoubtful()
}

extension ObjectReservation {
    /// `name` with a random part before its extension.
    static func spareName(for name: String) throws(CloudStorageError) -> String {
        let random: String
        do { random = try RandomBytes.generate(count: 4).hexLowercase } catch { throw .localFailure(error) }
        return Self.name(name, marked: random)
    }

    /// `name` with `mark` before its extension.
    static func name(_ name: String, marked mark: String) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        return name[..<dot] + "~" + mark + name[dot...]
    }

    /// A name without the mark of a spare name: `~` and eight hexadecimal digits before its extension.
    public static func plainName(of name: String) -> String {
        guard let mark = name.lastIndex(of: "~") else { return name }
        let digits = name[name.index(after: mark)...].prefix { $0.isHexDigit }
        let rest = name[digits.endIndex...]
        guard digits.count == 8, rest.first == "." else { return name }
        return String(name[..<mark] + rest)
    }
}
