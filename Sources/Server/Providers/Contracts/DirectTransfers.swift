public import SyncProtocol

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
