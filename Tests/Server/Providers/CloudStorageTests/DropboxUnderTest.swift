import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import TestSupport

extension ProviderUnderTest {
    static let dropbox = ProviderUnderTest(
        name: "Dropbox", sandboxProvider: .dropbox, makeProvider: { Dropbox() },
        account: DropboxAccount(
            appKey: "sandboxdropboxkey", appSecret: "sandbox-dropbox-secret", allowsBareTokens: true),
        owner: DropboxOwner(), host: nil, pathPrefix: "/2/", uploadPath: "/2/files/upload", partMethod: "POST",
        download: ("POST", "/2/files/download"), tokenHost: "api.dropboxapi.com", tokenPath: "/oauth2/token",
        quotaError: (409, "path/insufficient_space"), granularity: 262_144, hasFolders: false, folderName: "",
        repeatsNames: false, absentObjectID: "id:AAAAAAAAAAAAAAAAAAAAAA", hasReadableBin: false,
        forbiddenCharacters: ["\\"])
}

/// The owner of a Dropbox, through Dropbox's own interface.
private struct DropboxOwner: StorageOwner {
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws {
        try call("move_v2", ["from_path": objectID, "to_path": "/" + name], storage)
    }

    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws {
        try call("move_v2", ["from_path": objectID, "to_path": "/Elsewhere/moved"], storage)
    }

    /// Dropbox has no bin: deleted files can only be restored.
    func trash(_ id: String, in storage: ContractStorage) throws { try delete(id, in: storage) }

    func delete(_ id: String, in storage: ContractStorage) throws { try call("delete_v2", ["path": id], storage) }

    func folders(_ name: String, in storage: ContractStorage) throws -> [String] { [] }

    @discardableResult
    private func call(_ route: String, _ argument: [String: String], _ storage: ContractStorage) throws -> Reply {
        let request = OutgoingRequest(
            .dropbox, .metadata, .post, "https://api.dropboxapi.com/2/files/\(route)",
            headers: [.authorization: "Bearer \(try storage.token)", .contentType: "application/json"],
            body: .bytes(Array(try JSONSerialization.data(withJSONObject: argument))[...]))
        let reply = try storage.transport.send(request, by: .after(.seconds(20)))
        guard reply.status == 200 else { throw OwnerFailure(reply: reply) }
        return reply
    }
}
