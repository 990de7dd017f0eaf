internal import FoundationEssentials
internal import JSONWebTokens

/// The account with which this server uses Firebase, as issued by Google in a JSON file.
public struct ServiceAccount: Sendable {
    /// The Firebase project.
    public let projectID: String
    let email: String
    let keyID: String?
    let key: SigningKey

    private struct Members: Decodable {
        var projectID: String
        var clientEmail: String
        var privateKeyID: String?
        var privateKey: String

        enum CodingKeys: String, CodingKey {
            case projectID = "project_id"
            case clientEmail = "client_email"
            case privateKeyID = "private_key_id"
            case privateKey = "private_key"
        }
    }

    /// Why a file is unusable.
    public enum Unusable: Error, CustomStringConvertible {
        case notAServiceAccount
        case badKey

        public var description: String {
            switch self {
            case .notAServiceAccount: "it must be JSON with project_id, client_email and private_key"
            case .badKey: "its private_key must be an RSA key in PEM"
            }
        }
    }

    /// Parses the text of such a file.
    public init(json: String) throws(Unusable) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(json.utf8)),
            !members.projectID.isEmpty, !members.clientEmail.isEmpty
        else { throw .notAServiceAccount }
        projectID = members.projectID
        email = members.clientEmail
        keyID = members.privateKeyID
        do { key = try SigningKey(rs256PEM: members.privateKey) } catch { throw .badKey }
    }
}
