import HTTPTransport
import HTTPTypes
public import SyncProtocol
import Synchronization

/// OneDrive (Microsoft Graph v1.0), in the folder that it provides for our app (`special/approot`).
///
/// OneDrive assigns an identifier only when an object exists, and names in a folder are unique, ignoring letter case.
/// Every creation therefore requests to fail if the name is taken; the existing item is then compared. Equal contents
/// come from an earlier attempt and are the result; otherwise the new object gets the spare name.
public struct OneDrive: CloudProvider {
    static let drive = host + "v1.0/me/drive"
    private static let host = "https://graph.microsoft.com/"

    private let addresses = DownloadAddresses()

    public init() {}

    public var storageType: CloudStorageType { .microsoft }

    /// Requests the app's folder only if it is unknown or due for verification; the upload itself detects all other
    /// problems.
    public func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation {
        ObjectReservation(
            name: name, objectID: nil, folderID: try AppFolder(access: access).identifier(),
            spareName: try ObjectReservation.spareName(for: name))
    }

    public func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        try OneDriveSession(content, as: reservation, to: access).run()
    }

    public func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject {
        let item = try Self.item(objectID, access)
        guard item.deleted == nil else { throw .notFound }
        if let url = item.downloadURL { addresses.keep(url, of: objectID, access.tokens.accountKey) }
        return item.stored
    }

    private static func item(_ objectID: String, _ access: StorageAccess) throws(CloudStorageError) -> DriveItem {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url(address(of: objectID), [("$select", DriveItem.fields)])
        return try ProviderJSON.decode(
            DriveItem.self, try client.send(OutgoingRequest(.microsoft, .metadata, .get, url)).body)
    }

    /// The bytes come from another host, at an address that is itself the authorization: our token is never sent there.
    /// If the host rejects the address, a new one is requested, since the address may have expired.
    public func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        let address = PresentAddress(addresses.take(objectID, access.tokens.accountKey))
        var download = ResumableDownload(from: .microsoft, access: access) { reply in
            if reply.status >= 300 { address.url = nil }
            return ContentHost.classify(reply)
        }
        download.range = range
        try download.run(
            locating: { deadline throws(CloudStorageError) in
                if let url = address.url { return url }
                let url = try Self.downloadAddress(of: objectID, access, by: deadline)
                address.url = url
                return url
            }, begin: begin, receive: receive)
    }

    static func downloadAddress(
        of objectID: String, _ access: StorageAccess, by deadline: Deadline
    ) throws(CloudStorageError) -> String {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: [302]) }
        let reply = try client.send(
            OutgoingRequest(.microsoft, .download, .get, address(of: objectID) + "/content"), by: deadline)
        guard reply.status == 302, let location = reply.head.headers[.location] else {
            throw .unavailable(detail: "status \(reply.status) instead of a download address")
        }
        return try ContentHost.checked(location)
    }

    /// Deletes by the item's identifier, never by a path below the app's folder, where `DELETE` removes the whole
    /// folder.
    public func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError) {
        try Self.delete(objectID, access)
    }

    static func delete(_ objectID: String, _ access: StorageAccess) throws(CloudStorageError) {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        do throws(CloudStorageError) {
            let reply = try client.send(OutgoingRequest(.microsoft, .delete, .delete, address(of: objectID)))
            // Any other success status means that nothing was deleted ("Delete a driveItem").
            guard reply.status == 204 else { throw .unavailable(detail: "status \(reply.status) after a DELETE") }
        } catch .notFound {
            // Already deleted, by us or by its owner.
        }
    }

    public func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject? {
        try Self.item(named: name, access)?.stored
    }

    public func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        var url = OutgoingRequest.url(
            Self.drive + "/special/approot/children", [("$select", DriveItem.listedFields), ("$top", "200")])
        while true {
            let items = try ProviderJSON.decode(
                DriveItemPage.self, try client.send(OutgoingRequest(.microsoft, .metadata, .get, url)).body)
            page(items.value.filter { $0.file != nil }.map(\.stored))
            guard let next = items.nextLink else { return }
            // The token must never be sent elsewhere.
            guard next.hasPrefix(Self.host) else { throw .unavailable(detail: "a listing continues at another host") }
            url = next
        }
    }

    // MARK: Addresses

    /// The item with that name in the app's folder, or `nil`.
    static func item(
        named name: String, _ access: StorageAccess, by deadline: Deadline? = nil
    ) throws(CloudStorageError) -> DriveItem? {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url(address(ofName: name), [("$select", DriveItem.fields)])
        do {
            return try ProviderJSON.decode(
                DriveItem.self, try client.send(OutgoingRequest(.microsoft, .metadata, .get, url), by: deadline).body)
        } catch .notFound {
            return nil
        }
    }

    static func address(of objectID: String) -> String { drive + "/items/" + PercentEncoding.encode(objectID) }

    /// The address of a name in the app's folder; an action follows after `:/`.
    static func address(ofName name: String) -> String {
        drive + "/special/approot:/" + PercentEncoding.encode(name)
    }
}

extension OneDrive: OwnerOperations {
    private struct NewName: Encodable {
        var name: String
    }

    private struct Drive: Decodable {
        struct Quota: Decodable {
            var remaining: Int64?
        }
        var quota: Quota?
    }

    /// "Update driveItem properties".
    public func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        _ = try client.send(
            OutgoingRequest(
                .microsoft, .metadata, .patch, Self.address(of: objectID), headers: [.contentType: "application/json"],
                body: .bytes(try ProviderJSON.encode(NewName(name: newName))[...])))
        return true
    }

    /// The drive's facet `quota`; it may be hidden from an app that has permission only for its own folder.
    public func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64? {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url(Self.drive, [("$select", "quota")])
        let reply: Reply
        do {
            reply = try client.send(OutgoingRequest(.microsoft, .metadata, .get, url))
        } catch .rejected(code: "403 accessDenied") {
            return nil
        }
        return try ProviderJSON.decode(Drive.self, reply.body).quota?.remaining
    }
}

extension OneDrive: DirectUploads, DirectDownloads {
    /// "A short-lived URL", valid for about an hour (Microsoft Graph, "Download driveItem content").
    private static let addressSeconds: Int64 = 3_600

    /// Sessions report their own expiry. This applies while that is still unknown; a few days are usual.
    public var longestUploadAddressSeconds: Int64 { 7 * 86_400 }

    /// A session creates its item under the reserved name, and fails if the name is taken.
    public func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress? {
        // Sessions reject empty content.
        guard lengthBytes > 0 else { return nil }
        let creation = OneDriveCreation(access: access, patience: access.deadline.remaining)
        let reply = try creation.startSession(reservation.name, ofBytes: lengthBytes)
        guard reply.status != 409 else { return nil }
        let state = try ProviderJSON.decode(UploadSessionState.self, reply.body)
        guard let url = state.uploadUrl else { throw .unavailable(detail: "the upload session has no address") }
        let session = OneDriveSavedSession(
            url: try ContentHost.checked(url), name: reservation.name, expirationDateTime: state.expirationDateTime)
        return uploadAddress(in: try session.text, mimeType: mimeType)
    }

    public func uploadAddress(in session: String, mimeType: String) -> UploadAddress? {
        guard let saved = try? OneDriveSavedSession(session) else { return nil }
        return UploadAddress(
            session: session, url: saved.url, form: .fragments, contentType: "application/octet-stream",
            granularityBytes: Int64(OneDriveSession.granularity), expires: saved.expires)
    }

    public func directlyUploaded(
        as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject? {
        try find(name: reservation.name, in: access)
    }

    /// Cancels the session. If the session is unknown, it may have created its item; if there is no item, its host may
    /// not know the session yet.
    public func endDirectUpload(
        _ session: String, as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        let saved = try OneDriveSavedSession(session)
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: [401, 404, 410]) }
        client.presentsToken = false
        let reply = try client.send(OutgoingRequest(.microsoft, .upload, .delete, try ContentHost.checked(saved.url)))
        if reply.status < 300 { return true }
        return try directlyUploaded(as: reservation, in: access) != nil
    }

    public func downloadAddress(
        of objectID: String, in access: StorageAccess
    ) throws(CloudStorageError) -> DownloadAddress {
        DownloadAddress(
            url: try Self.downloadAddress(of: objectID, access, by: access.deadline),
            lifetimeSeconds: Self.addressSeconds)
    }
}

/// The folder that OneDrive provides for our app; the first request for it creates it.
struct AppFolder {
    static let address = OneDrive.drive + "/special/approot"
    let access: StorageAccess

    /// The folder's identifier; the folder exists when this returns.
    func identifier() throws(CloudStorageError) -> String {
        let remembered = access.folder.folderID
        if let remembered, !access.folder.isDueForVerification() { return remembered }
        do {
            let folder = try fetch()
            return folder == remembered ? folder : try access.folder.replace(remembered, by: folder)
        } catch {
            // The verification failed, so the folder is still unverified.
            access.folder.markDoubtful()
            throw error
        }
    }

    /// Requests the folder, which creates it if it is missing.
    @discardableResult
    func fetch(by deadline: Deadline? = nil) throws(CloudStorageError) -> String {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        let request = OutgoingRequest(
            .microsoft, .metadata, .get, OutgoingRequest.url(Self.address, [("$select", "id")]))
        return try ProviderJSON.decode(DriveItem.self, try client.send(request, by: deadline).body).id
    }
}

/// The address that one download uses until the host rejects it.
final class PresentAddress {
    var url: String?
    init(_ url: String?) { self.url = url }
}

/// Download addresses that came with a description. They save a request for the download that usually follows at once.
///
/// Kept only in this process's memory. Each is used once, soon after it was issued; an address that no longer works is
/// replaced by a new one.
final class DownloadAddresses: Sendable {
    private struct Key: Hashable {
        var account: Int64
        var objectID: String
    }
    private struct Entry {
        var url: String
        var kept: ContinuousClock.Instant
    }
    private static let lifetime: Duration = .seconds(60)
    private static let maximumEntries = 1_000
    private let entries = Mutex<[Key: Entry]>([:])

    func keep(_ url: String, of objectID: String, _ account: Int64) {
        guard let url = try? ContentHost.checked(url) else { return }
        entries.withLock { entries in
            if entries.count >= Self.maximumEntries { entries.removeAll() }
            entries[Key(account: account, objectID: objectID)] = Entry(url: url, kept: .now)
        }
    }

    func take(_ objectID: String, _ account: Int64) -> String? {
        let entry = entries.withLock { $0.removeValue(forKey: Key(account: account, objectID: objectID)) }
        guard let entry, entry.kept.duration(to: .now) < Self.lifetime else { return nil }
        return entry.url
    }
}

/// The hosts for uploads and downloads; Graph issues their addresses, which are themselves the authorization.
enum ContentHost {
    /// Classifies a reply to a download. If an address is no longer accepted, a new one is requested.
    static func classify(_ reply: Reply) -> ReplyVerdict {
        switch reply.status {
        case 200..<300: .answer
        case 401, 403, 404, 408, 410, 423, 429, 500...:
            .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) from a download address")
        case 507: .failure(.quotaExceeded)
        default: .failure(.rejected(code: "\(reply.status) from a download address"))
        }
    }

    /// `url` if it belongs to Microsoft: a person's files are never sent elsewhere, whatever a reply contains.
    static func checked(_ url: String) throws(CloudStorageError) -> String {
        guard ExternalService.microsoft.owns(url) else { throw .rejected(code: "bytes at an unknown host") }
        return url
    }
}
