/// The types of third-party accounts with which people sign in.
///
/// The raw value is the name under which an account type is stored.
public enum AccountType: String, Sendable, Hashable, Codable, CaseIterable {
    /// Google, with Google Drive.
    case google = "Google"
    /// Dropbox.
    case dropbox = "Dropbox"
    /// Facebook; provides no storage.
    case facebook = "Facebook"
    /// Microsoft, with OneDrive.
    case microsoft = "Microsoft"
    /// Sign in with Apple; provides no storage.
    case appleSignIn = "AppleSignIn"
    /// A WebDAV server that the person names, such as their Nextcloud server.
    case webDAV = "WebDAV"
    /// A bucket, named by the person, of a service with the interface of Amazon S3.
    case s3 = "S3"

    /// Whether an account has cloud storage of its own.
    public enum UserType: String, Sendable, Hashable, Codable {
        /// Has storage: new files are stored there.
        case owning
        /// Has no storage: new files are stored in the storage of the inviting member.
        case sharing
    }

    /// The protocol's properties of each type, in one row.
    private var row: (tokenType: String, storage: CloudStorageType?) {
        switch self {
        case .google: ("GoogleToken", .google)
        case .dropbox: ("DropboxToken", .dropbox)
        case .facebook: ("FacebookToken", nil)
        case .microsoft: ("MicrosoftToken", .microsoft)
        case .appleSignIn: ("AppleSignInToken", nil)
        case .webDAV: ("WebDAVToken", .webDAV)
        case .s3: ("S3Token", .s3)
        }
    }

    /// The value of the request header `X-token-type` for this account type.
    public var tokenType: String { row.tokenType }

    /// Creates an account type from the value of `X-token-type`, which is case-sensitive.
    public init?(tokenType: String) {
        guard let type = Self.allCases.first(where: { $0.tokenType == tokenType }) else { return nil }
        self = type
    }

    /// The storage that comes with an account of this type; nil for sharing types.
    public var cloudStorageType: CloudStorageType? { row.storage }

    /// Owning if the type has storage. An owning account remains owning when it joins another user's group.
    public var userType: UserType {
        cloudStorageType == nil ? .sharing : .owning
    }

    /// Whether creating a user of this type requires the name of a folder in the user's storage.
    public var needsCloudFolderName: Bool {
        self == .google || self == .webDAV
    }
}

/// The cloud storage services in which users keep their files, with the spelling that clients know.
public enum CloudStorageType: String, Sendable, Hashable, Codable, CaseIterable {
    /// Google Drive.
    case google = "Google"
    /// Dropbox.
    case dropbox = "Dropbox"
    /// OneDrive.
    case microsoft = "Microsoft"
    /// A folder of a WebDAV server.
    case webDAV = "WebDAV"
    /// A bucket of a service with the interface of Amazon S3.
    case s3 = "S3"

    /// The checksum by which clients and server compare a file's bytes in this storage.
    public var checkSumFlavour: CheckSum.Flavour {
        switch self {
        case .google, .webDAV, .s3: .md5
        case .dropbox: .dropboxContentHash
        case .microsoft: .sha1
        }
    }
}

/// The permissions of a member of a sharing group; each includes the lower ones.
public enum Permission: String, Sendable, Hashable, Comparable, Codable, CaseIterable, QueryValue {
    /// May list and download.
    case read
    /// May also upload, delete and commit.
    case write
    /// May also invite, and rename or remove the group.
    case admin

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.permission

    /// `read` < `write` < `admin`.
    public static func < (left: Self, right: Self) -> Bool {
        left.level < right.level
    }

    /// Whether a user with this permission may do what requires `needed`.
    public func allows(_ needed: Permission) -> Bool {
        self >= needed
    }

    private var level: Int {
        switch self {
        case .read: 0
        case .write: 1
        case .admin: 2
        }
    }
}
