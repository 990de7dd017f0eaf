/// Accounts whose people present a user name and a password to a server that they name.
///
/// Such a server may show a folder to everybody, or take any password. Its answer to a password proves who somebody is only
/// if it would have refused another one.
public protocol PasswordAccounts: AccountProvider {
    /// What presented credentials claim; `nil` if they are no user name and password.
    func claim(of presented: PresentedCredentials) -> PasswordClaim?

    /// Whether the server refuses somebody else who says that they are this person.
    /// - Parameters:
    ///   - stranger: who asks.
    ///   - request: what they ask for; it changes nothing.
    /// - Throws: an error that says that the server could not be asked.
    func refuses(
        _ stranger: Stranger, inPlaceOf presented: PresentedCredentials, asking request: StrangersRequest,
        through client: AccountClient
    ) throws(AccountError) -> Bool

    /// Whether the server refuses the person themselves something that only its owner may do. Changes nothing.
    func refusesOwner(_ presented: PresentedCredentials, through client: AccountClient) throws(AccountError) -> Bool
}

/// Somebody who is not the person.
public enum Stranger: Sendable {
    /// They present nothing, which no server counts as a wrong password.
    case anonymous
    /// They present a password that nobody has.
    case withMadeUpPassword
}

/// What a server is asked for in the name of somebody who is not the person.
public enum StrangersRequest: Sendable {
    /// To show the folder.
    case look
    /// To make the folder, which is there.
    case write
}

/// A user name and a password at a server, as a person presents them.
public struct PasswordClaim: Equatable, Sendable {
    /// The server, as host and port. It slows down callers who try wrong passwords.
    public let server: String
    /// The user name there.
    public let user: String
    /// The identity that the person would have (``AccountProvider/statedUserID(in:)``).
    public let identity: String
    /// Where user names and passwords are checked in one way: an installation of Nextcloud or ownCloud, or else the folder.
    public let realm: String
    /// Whether all user names of the realm are checked in the same way.
    public let isRealmOfAllUsers: Bool
    /// SHA-256 of everything that is presented, in hexadecimal digits.
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
