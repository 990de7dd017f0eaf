import Foundation
import SyncProtocol
import SyncServerConnection

/// A Nextcloud's or ownCloud's information about its user (Nextcloud, Developer Manual, "OCS API overview").
enum NextcloudUser {
    private struct Reply: Decodable {
        struct Services: Decodable { var data: User }
        struct User: Decodable {
            var id: String
            var displayname: String?
            /// ownCloud's spelling.
            var displayName: String?
            var email: String?

            private enum CodingKeys: String, CodingKey {
                case id, displayname, email
                case displayName = "display-name"
            }
        }
        var ocs: Services
    }

    /// The address of the user's data; requires ``requestHeader``.
    static func address(at server: URL) -> String {
        server.appending(path: "ocs/v2.php/cloud/user").absoluteString + "?format=json"
    }

    /// The services refuse requests without this header, since a web page cannot send it.
    static let requestHeader = "OCS-APIRequest"

    static func read(_ body: Data) -> AccountCredentials.Person? {
        (try? JSONDecoder().decode(Reply.self, from: body).ocs.data).map { user in
            AccountCredentials.Person(
                id: user.id, name: user.displayname ?? user.displayName ?? "", email: user.email)
        }
    }

    /// The location of the user's files, for the server.
    /// - Parameters:
    ///   - server: the Nextcloud's address; may end with slashes.
    ///   - name: the name that accompanies a password; `nil` for a bearer token.
    static func details(of id: String, at server: String, name: String?) -> String? {
        var root = server
        while root.hasSuffix("/") { root.removeLast() }
        let address = "\(root)/remote.php/dav/files/\(PercentEncoding.encode(id))/"
        return (try? JSONEncoder().encode(AccountDetails.webDAV(address: address, user: name)))
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
