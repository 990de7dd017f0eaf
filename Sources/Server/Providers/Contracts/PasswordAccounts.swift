/// Accounts whose users present a user name and a password to a server that they name.
///
/// Such a server may show a folder to everybody, or accept any password. Accepting a password proves the person's
/// identity only if the server would have rejected a different one.
public protocol PasswordAccounts: AccountProvider {
    /// The claim in presented credentials; `nil` if they do not consist of a user name and a password.
    func claim(of presented: PresentedCredentials) -> PasswordClaim?

    /// Whether the server rejects a stranger who claims to be this person.
    /// - Parameters:
    ///   - stranger: how the stranger authenticates.
    ///   - request: what the stranger requests; it changes nothing.
    /// - Throws: an error that means that the server could not be asked.
    func refuses(
        _ stranger: Stranger, inPlaceOf presented: PresentedCredentials, asking request: StrangersRequest,
        through client: AccountClient
    ) throws(AccountError) -> Bool

    /// Whether the server rejects a request by the person themselves that only the folder's owner may make. Changes
    /// nothing.
    func refusesOwner(_ presented: PresentedCredentials, through client: AccountClient) throws(AccountError) -> Bool
}

/// Somebody who is not the person.
public enum Stranger: Sendable {
    /// Presents no credentials, which no server counts as a wrong password.
    case anonymous
    /// Presents a password that nobody has.
    case withMadeUpPassword
}

/// A request to a server in the name of a stranger.
public enum StrangersRequest: Sendable {
    /// Show the folder.
    case look
    /// Create the folder, which already exists.
    case write
}

/// A user name and a password for a server, as presented by a person.
public struct PasswordClaim: Equatable, Sendable {
    /// The server, as host and port. It slows down callers who try wrong passwords.
    public let server: String
    /// The user name on that server.
    public let user: String
    /// The person's identity if the claim is true (``AccountProvider/statedUserID(in:)``).
    public let identity: String
    /// The area within which user names and passwords are checked in one way: an installation of Nextcloud or ownCloud,
    /// otherwise the folder.
    public let realm: String
    /// Whether all user names of the realm are checked in the same way.
    public let isRealmOfAllUsers: Bool
    /// SHA-256 of all presented values, in hexadecimal digits.
    public let digest: String

    public init(
        server: String, user: String, identity: String, realm: String, isRealmOfAllUsers: Bool, digest: String
    ) {
        self.server = server
        self.user = user
        self.identity = identity
        self.realm = realm
        self.isRealmOfAllUsers = isRealmOfAllUsers
        self.digest = digest
    }
}
