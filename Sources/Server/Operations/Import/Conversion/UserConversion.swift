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
