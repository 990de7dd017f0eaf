import HTTPTransport
import HTTPTypes
public import SyncProtocol

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
        let names = [reservation.name, reservation.spareName].compactMap(\.self)
        return try OneDriveUpload(content: content, names: names, access: access).run()
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

    /// The item with that name in the app's folder; `nil` if there is none.
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
