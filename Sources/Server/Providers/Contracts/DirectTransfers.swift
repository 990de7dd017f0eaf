public import SyncProtocol

/// Storage to which people send bytes themselves, by an address that the provider gives out for one object.
///
/// Whoever has such an address may create that object, and nothing else. What they have sent is not known before the provider
/// is asked: the object exists by then, and is compared like any other that somebody else has made.
public protocol DirectUploads: CloudProvider {
    /// The longest time for which an address works, in seconds, unless ``UploadAddress/expires`` says more.
    var longestUploadAddressSeconds: Int64 { get }

    /// Gets an address for the content of one object.
    ///
    /// The caller has recorded the reservation, as for ``CloudProvider/upload(_:as:mimeType:to:)``. It has no spare name: what
    /// is found under it must come from this address.
    /// - Returns: `nil` if the provider takes no content of that length in this way.
    func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress?

    /// The address that an upload has.
    /// - Parameter session: ``UploadAddress/session`` of an earlier one, or what ``UploadResumption`` has recorded since.
    /// - Returns: `nil` if the bytes do not go to an address.
    func uploadAddress(in session: String, mimeType: String) -> UploadAddress?

    /// The object that somebody has made with an address; `nil` if there is none yet. Its content may be anything.
    func directlyUploaded(
        as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject?

    /// Makes an address useless.
    /// - Returns: whether nothing more can come by it: if not, it works until its time is over.
    func endDirectUpload(
        _ session: String, as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool
}

/// Storage from which people read bytes themselves, by an address that the provider gives out for one object.
public protocol DirectDownloads: CloudProvider {
    /// An address of an object's present bytes, which whoever has it may read without any other authorization.
    /// - Throws: ``CloudStorageError/notFound``.
    func downloadAddress(of objectID: String, in access: StorageAccess) throws(CloudStorageError) -> DownloadAddress
}

/// Where the bytes of one object can be sent.
public struct UploadAddress: Equatable, Sendable {
    /// What the provider's adapter needs to recognize it, or to go on with the same upload; it is kept secret.
    public var session: String
    public var url: String
    public var form: DirectUpload.Form
    /// The `Content-Type` of requests to it.
    public var contentType: String
    /// What the length of each request's body but the last is a multiple of; `nil` if there is one request.
    public var granularityBytes: Int64?
    /// When it ends, if the provider says so.
    public var expires: WireDate?
}

/// Where the bytes of one object can be read.
public struct DownloadAddress: Equatable, Sendable {
    public var url: String
    /// For how long at most, in seconds.
    public var lifetimeSeconds: Int64
}
