import FoundationEssentials
import OpenSSLCrypto
import Providers
import SyncProtocol

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
