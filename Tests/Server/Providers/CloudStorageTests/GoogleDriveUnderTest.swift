import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import TestSupport

extension ProviderUnderTest {
    static let googleDrive = ProviderUnderTest(
        name: "Google Drive", sandboxProvider: .google, makeProvider: { GoogleDrive() },
        account: GoogleAccount(
            clientID: "1234567890-server.apps.googleusercontent.com", clientSecret: "sandbox-google-secret",
            otherClientIDs: []),
        owner: DriveOwner(), host: "www.googleapis.com", uploadPath: "/upload/drive/v3/files", partMethod: "PUT",
        tokenHost: "oauth2.googleapis.com", quotaError: (403, "storageQuotaExceeded"), granularity: 262_144,
        hasFolders: true)
}

/// The owner of a Drive, through Drive's own interface.
struct DriveOwner: StorageOwner {
    private static let files = "https://www.googleapis.com/drive/v3/files"

    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws {
        try call(.patch, "\(Self.files)/\(objectID)", ["name": name], storage)
    }

    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws {
        try call(.patch, "\(Self.files)/\(objectID)?addParents=root&removeParents=\(folderID ?? "")", [:], storage)
    }

    func trash(_ id: String, in storage: ContractStorage) throws {
        try call(.patch, "\(Self.files)/\(id)", ["trashed": true], storage)
    }

    func delete(_ id: String, in storage: ContractStorage) throws {
        try call(.delete, "\(Self.files)/\(id)", nil, storage)
    }

    /// Creates a folder at the root, and returns its identifier. The time is in RFC 3339 format.
    func makeFolder(_ name: String, createdAt createdTime: String, in storage: ContractStorage) throws -> String {
        let folder: [String: Any] = [
            "name": name, "mimeType": "application/vnd.google-apps.folder", "parents": ["root"],
            "createdTime": createdTime,
        ]
        let reply = try call(.post, "\(Self.files)?fields=id", folder, storage)
        guard let id = JSONValue(reply.body)?.id?.text else { throw OwnerFailure(reply: reply) }
        return id
    }

    func folders(_ name: String, in storage: ContractStorage) throws -> [String] {
        let query = "mimeType = 'application/vnd.google-apps.folder' and trashed = false and 'root' in parents"
        let url = OutgoingRequest.url(Self.files, [("q", query), ("fields", "files(id,name)"), ("pageSize", "1000")])
        let found = JSONValue(try call(.get, url, nil, storage).body)?.files?.array ?? []
        return found.filter { $0.name?.text == name }.compactMap { $0.id?.text }
    }

    @discardableResult
    private func call(
        _ method: HTTPRequest.Method, _ url: String, _ json: [String: Any]?, _ storage: ContractStorage
    ) throws -> Reply {
        var request = OutgoingRequest(
            .google, .metadata, method, url, headers: [.authorization: "Bearer \(try storage.token)"])
        if let json {
            request.headers[.contentType] = "application/json; charset=UTF-8"
            request.body = .bytes(Array(try JSONSerialization.data(withJSONObject: json))[...])
        }
        let reply = try storage.transport.send(request, by: .after(.seconds(20)))
        guard (200..<300).contains(reply.status) else { throw OwnerFailure(reply: reply) }
        return reply
    }
}
