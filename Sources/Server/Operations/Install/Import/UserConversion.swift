import FoundationEssentials
import OpenSSLCrypto
import Providers
import SyncProtocol

/// A user of an older server, in this server's form.
struct ConvertedUser: Equatable, Sendable {
    var source: Int64
    var accountType: AccountType
    var providerUserID: String
    var displayName: String
    var cloudFolderName: String?
    var credentials: StoredCredentials?
    var devices: [DeviceUUID]
    /// The SNS topic for this user's pushes.
    var pushTopicARN: String?
}

/// Converts a user for the import.
enum UserConversion {
    static let table = "User"
    private static let maximumNameCharacters = 255

    /// - Returns: `nil` if the user cannot be imported at all.
    static func user(_ source: SourceUser, devices: [String], _ notes: inout [ImportNote]) -> ConvertedUser? {
        let row = "\(source.userId)"
        guard let type = AccountType(rawValue: source.accountType) else {
            notes.append(ImportNote(table, row, .skipped, .unknownAccountType))
            return nil
        }
        guard source.userId > 0, !source.credsId.isEmpty else {
            notes.append(ImportNote(table, row, .skipped, .accountIDUnusable))
            return nil
        }
        var credentials: StoredCredentials?
        do {
            credentials = try CredentialsConversion.credentials(source.creds, of: type)
            if type.userType == .owning, credentials?.accessToken == nil {
                notes.append(ImportNote(table, row, .adjusted, .accessTokenMissing))
            }
        } catch {
            notes.append(ImportNote(table, row, .adjusted, .credentialsUnreadable))
        }
        var usable: [DeviceUUID] = []
        for device in devices {
            if let device = DeviceUUID(device) {
                usable.append(device)
            } else {
                notes.append(ImportNote("DeviceUUID", row, .skipped, .deviceUUIDUnusable))
            }
        }
        return ConvertedUser(
            source: source.userId, accountType: type, providerUserID: source.credsId,
            displayName: String(
                String.UnicodeScalarView(source.username.unicodeScalars.prefix(maximumNameCharacters))),
            cloudFolderName: type.needsCloudFolderName ? source.cloudFolderName : nil, credentials: credentials,
            devices: usable, pushTopicARN: topic(source.pushNotificationTopic))
    }

    /// SyncServerII wrote the text `NULL` to clear a topic.
    private static func topic(_ text: String?) -> String? {
        guard let text, text.hasPrefix("arn:") else { return nil }
        return text
    }
}

/// Reads the JSON in which SyncServerII stored a user's tokens.
enum CredentialsConversion {
    private struct Stored: Decodable {
        var accessToken: String?
        var refreshToken: String?
        /// Google and Apple: the last exchanged code.
        var serverAuthCode: String?
        /// Apple: the identity token.
        var idToken: String?
    }

    enum Failure: Error {
        /// It is not JSON, has a different form, or is too long to store.
        case unreadable
    }

    /// Sealed credentials must fit a column of 16,384 bytes.
    private static let maximumBytes = 16_000

    /// The tokens in our form; `nil` if there are none to keep.
    static func credentials(_ json: String, of type: AccountType) throws(Failure) -> StoredCredentials? {
        guard json.utf8.count <= maximumBytes else { throw .unreadable }
        let stored: Stored
        do {
            stored = try JSONDecoder().decode(Stored.self, from: Data(json.utf8))
        } catch {
            throw .unreadable
        }
        let codeHash = stored.serverAuthCode.flatMap { $0.isEmpty ? nil : hash($0) }
        switch type {
        case .google:
            return some(
                StoredCredentials(
                    accessToken: stored.accessToken, refreshToken: stored.refreshToken, codeHash: codeHash))
        case .dropbox: return some(StoredCredentials(accessToken: stored.accessToken))
        case .microsoft:
            return some(StoredCredentials(accessToken: stored.accessToken, refreshToken: stored.refreshToken))
        case .appleSignIn:
            // The token was verified when it was stored, so it remains accepted.
            let identity = stored.idToken.flatMap { $0.isEmpty ? nil : IdentityRecord(tokenHashes: [hash($0)]) }
            return some(
                StoredCredentials(refreshToken: stored.refreshToken, codeHash: codeHash, identity: identity))
        // Facebook's tokens are not stored, and SyncServerII had no other type.
        default: return nil
        }
    }

    private static func some(_ credentials: StoredCredentials) -> StoredCredentials? {
        credentials == StoredCredentials() ? nil : credentials
    }

    private static func hash(_ text: String) -> String {
        IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase
    }
}
