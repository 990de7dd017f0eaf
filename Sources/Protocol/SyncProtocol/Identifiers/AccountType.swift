/// The kinds of third-party accounts with which people sign in.
///
/// The raw value is the name under which an account type is stored.
public enum AccountType: String, Sendable, Hashable, Codable, CaseIterable {
    /// Google, with Google Drive.
    case google = "Google"
    /// Dropbox.
    case dropbox = "Dropbox"
    /// Facebook; brings no storage.
    case facebook = "Facebook"
    /// Microsoft, with OneDrive.
    case microsoft = "Microsoft"
    /// Sign in with Apple; brings no storage.
    case appleSignIn = "AppleSignIn"

    /// Whether an account brings cloud storage of its own.
    public enum UserType: String, Sendable, Hashable, Codable {
        /// Brings storage: new files go there.
        case owning
        /// Brings none: new files go to the storage of the member who invited.
        case sharing
    }

    /// The word that the request header `X-token-type` holds for this account type.
    public var tokenType: String {
        switch self {
        case .google: "GoogleToken"
        case .dropbox: "DropboxToken"
        case .facebook: "FacebookToken"
        case .microsoft: "MicrosoftToken"
        case .appleSignIn: "AppleSignInToken"
        }
    }

    /// Finds the account type by the word in `X-token-type`, which is case-sensitive.
    public init?(tokenType: String) {
        guard let type = Self.allCases.first(where: { $0.tokenType == tokenType }) else { return nil }
        self = type
    }

    /// The storage that comes with an account of this type; nil for sharing types.
    public var cloudStorageType: CloudStorageType? {
        switch self {
        case .google: .google
        case .dropbox: .dropbox
        case .microsoft: .microsoft
        case .facebook, .appleSignIn: nil
        }
    }

    /// Owning if the type brings storage. An owning account stays so when it joins somebody else's group.
    public var userType: UserType {
        cloudStorageType == nil ? .sharing : .owning
    }

    /// Whether creating a user of this type takes the name of a folder in the user's storage.
    public var needsCloudFolderName: Bool {
        self == .google
    }
}
