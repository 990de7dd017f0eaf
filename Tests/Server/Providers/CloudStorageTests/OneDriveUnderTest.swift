import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import TestSupport

extension ProviderUnderTest {
    static let oneDrive = ProviderUnderTest(
        name: "OneDrive", sandboxProvider: .microsoft, makeProvider: { OneDrive() },
        account: MicrosoftAccount(
            clientID: "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e", clientSecret: "sandbox~microsoft+secret/="),
        owner: OneDriveOwner(), host: "graph.microsoft.com,my.microsoftpersonalcontent.com", uploadPath: "/",
        partMethod: "PUT", download: ("GET", "/personal/"), tokenHost: "login.microsoftonline.com",
        tokenPath: "/common/oauth2/v2.0/token", quotaError: (507, "insufficientStorage"), granularity: 327_680,
        hasFolders: false, folderName: "Apps/Sandbox App", repeatsNames: false,
        absentObjectID: "0123456789ABCDEF!999999", hasReadableBin: false, partsCarryToken: false,
        forbiddenCharacters: Set("\"*:<>?/\\|"))
}

/// The owner of a OneDrive, through Graph.
private struct OneDriveOwner: StorageOwner {
    private static let drive = "https://graph.microsoft.com/v1.0/me/drive"

    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws {
        try call(.patch, "\(Self.drive)/items/\(objectID)", ["name": name], storage)
    }

    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws {
        let root = JSONValue(try call(.get, "\(Self.drive)/root", nil, storage).body)?.id?.text ?? ""
        try call(.patch, "\(Self.drive)/items/\(objectID)", ["parentReference": ["id": root]], storage)
    }

    /// Items in the bin are not visible through Graph.
    func trash(_ id: String, in storage: ContractStorage) throws { try delete(id, in: storage) }

    func delete(_ id: String, in storage: ContractStorage) throws {
        try call(.delete, "\(Self.drive)/items/\(id)", nil, storage)
    }

    func folders(_ name: String, in storage: ContractStorage) throws -> [String] {
        let found = JSONValue(try call(.get, "\(Self.drive)/root/children", nil, storage).body)?.value?.array ?? []
        return found.filter { $0.name?.text == name }.compactMap { $0.id?.text }
    }

    @discardableResult
    private func call(
        _ method: HTTPRequest.Method, _ url: String, _ json: [String: Any]?, _ storage: ContractStorage
    ) throws -> Reply {
        var request = OutgoingRequest(
            .microsoft, .metadata, method, url, headers: [.authorization: "Bearer \(try storage.token)"])
        if let json {
            request.headers[.contentType] = "application/json"
            request.body = .bytes(Array(try JSONSerialization.data(withJSONObject: json))[...])
        }
        let reply = try storage.transport.send(request, by: .after(.seconds(20)))
        guard (200..<300).contains(reply.status) else { throw OwnerFailure(reply: reply) }
        return reply
    }
}
