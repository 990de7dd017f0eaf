/// The history of one sharing group, which its server writes to a file in the storage of each owner: it contains what a
/// new server needs to become this group's server (docs/manifest.md).
///
/// The file is a text of lines, each a JSON object with one member whose name is the kind of line, compressed with gzip:
/// a ``ManifestHeader``, a ``ManifestMember`` for each member, blocks of ``ManifestFile``, and a signature.
/// ``ManifestWriter`` writes these lines, and ``ManifestReader`` reads them; both hold one block at a time.
public enum GroupManifest {
    /// The format's version. It is increased only if older readers would misunderstand the file, not if lines or
    /// members are added.
    public static let format = 1
    /// The number of files in a block.
    public static let filesInBlock = 4_096
    /// The number of checksum bytes in the manifest if the storage itself reports the checksum of its objects: enough
    /// to recognise contents.
    public static let checkSumPrefixBytes = 8
    /// The number of characters in the manifest of a storage's own hash, if it differs from the checksum.
    public static let hashPrefixCharacters = 11
    /// The type of the compressed file.
    public static let mimeType = "application/gzip"
    /// The maximum size of a manifest, in bytes.
    public static let maximumBytes = 64 << 20
    /// The maximum size of its text, in bytes.
    public static let maximumTextBytes = 512 << 20
    /// The maximum number of files in a manifest, including deleted ones.
    public static let maximumFiles = 1_000_000
    /// The path at which a server publishes the public keys of its manifests.
    public static let keysPath = "/.well-known/syncserver-manifest-keys"

    /// The message that is signed with the Ed25519 key (RFC 8032): a fixed text, so that no other signature of the key
    /// can be presented as one of a manifest, and the SHA-256 of all bytes of the uncompressed text before the line of
    /// the signature.
    public static func signedMessage(sha256: [UInt8]) -> [UInt8] {
        Array("SyncServer group manifest 1\n".utf8) + sha256
    }

    /// What to hash with SHA-256 to obtain a member's ``ManifestMember/identity``, which is the first 16 bytes.
    /// - Parameters:
    ///   - salt: ``ManifestHeader/salt``.
    ///   - accountID: the account provider's identifier of the person.
    public static func identityInput(salt: [UInt8], accountType: AccountType, accountID: String) -> [UInt8] {
        salt + Array("\(accountType.rawValue)\n\(accountID)".utf8)
    }

    /// A public key as servers publish it and people type it: base64url without padding (RFC 4648, section 5).
    public static func text(ofPublicKey key: [UInt8]) -> String { Base64URL.text(of: key) }

    /// Decodes a public key of 32 bytes; returns nil for any other text.
    public static func publicKey(_ text: String) -> [UInt8]? {
        Base64URL.bytes(of: text).flatMap { $0.count == 32 ? $0 : nil }
    }

    /// The number of bytes in ``ManifestMember/identity``.
    public static let identityBytes = 16
}

/// The name of a manifest in its owner's folder: `<sharingGroupUUID>.<sequence>.manifest.gz`.
///
/// Of two manifests of a group in one folder, the one with the higher sequence is newer. A sequence is a time in
/// milliseconds since 1970, so that a restored or rebuilt server does not use a name again.
public struct ManifestName: Sendable, Hashable {
    public let groupUUID: SharingGroupUUID
    public let sequence: Int64

    private static let ending = ".manifest.gz"

    public init(groupUUID: SharingGroupUUID, sequence: Int64) {
        self.groupUUID = groupUUID
        self.sequence = sequence
    }

    /// Parses a name; nil if it is not of this form.
    public init?(_ text: String) {
        guard text.hasSuffix(Self.ending) else { return nil }
        let parts = text.dropLast(Self.ending.count).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let uuid = UUIDText(String(parts[0])),
            let sequence = StrictDecimal.parse(parts[1].utf8, as: Int64.self)
        else { return nil }
        guard let groupUUID = SharingGroupUUID(uuid.rawValue) else { return nil }
        self.init(groupUUID: groupUUID, sequence: sequence)
    }

    /// The name, without any folder.
    public var rawValue: String { "\(groupUUID.rawValue).\(sequence)\(Self.ending)" }
}

/// The first line of a manifest: the group, the time, and the server.
public struct ManifestHeader: Sendable, Equatable {
    public var groupUUID: SharingGroupUUID
    public var groupName: String?
    public var createdAt: WireDate?
    public var masterVersion: MasterVersion
    /// The mark by which clients recognise that the group was restored, as in the index.
    public var restoreMark: RestoreMark?
    public var restoredMasterVersion: MasterVersion?
    public var writtenAt: WireDate
    /// The address of the server, as clients know it; nil if the server does not know its own.
    public var serverURL: String?
    /// The owner in whose storage the manifest is.
    public var ownerID: UserID
    /// Random bytes of this manifest, hashed with each member's account.
    public var salt: [UInt8]
    /// The Ed25519 public key of the signature, 32 bytes. Anybody who can write a manifest can generate a key, so the
    /// key alone proves nothing.
    public var publicKey: [UInt8]

    public init(
        groupUUID: SharingGroupUUID, groupName: String?, createdAt: WireDate?, masterVersion: MasterVersion,
        restoreMark: RestoreMark?, restoredMasterVersion: MasterVersion?, writtenAt: WireDate, serverURL: String?,
        ownerID: UserID, salt: [UInt8], publicKey: [UInt8]
    ) {
        self.groupUUID = groupUUID
        self.groupName = groupName
        self.createdAt = createdAt
        self.masterVersion = masterVersion
        self.restoreMark = restoreMark
        self.restoredMasterVersion = restoredMasterVersion
        self.writtenAt = writtenAt
        self.serverURL = serverURL
        self.ownerID = ownerID
        self.salt = salt
        self.publicKey = publicKey
    }
}

/// A member of the group.
public struct ManifestMember: Sendable, Equatable {
    /// The server's number of the user: the same in the manifests of all groups of this server, and without meaning
    /// elsewhere.
    public var userID: UserID
    /// Recognises the person's account without naming it: ``GroupManifest/identityInput(salt:accountType:accountID:)``.
    public var identity: [UInt8]
    /// The account itself; only for the owner in whose storage the manifest is.
    public var account: Account?
    /// The name that the other members see.
    public var name: String
    public var permission: Permission
    /// Whether the member's account has storage.
    public var isOwning: Bool
    /// Whose storage takes the new files of a member without storage; nil if nobody's does.
    public var owningUserID: UserID?
    public var joinedAt: WireDate
    /// The identity above the member's account: devices that know a different one refuse to continue. Nil if no device
    /// has asked for it.
    public var userAppID: UserAppID?
    /// The number of the member's account switches; nil without ``userAppID``.
    public var accountEpoch: AccountEpoch?
    /// The other groups with files to which the member belongs; nil if the manifest does not contain them.
    public var otherGroups: OtherGroups?

    /// The groups that a rebuilt server must have restored before it sends the member a list.
    public enum OtherGroups: Sendable, Equatable {
        /// For the owner of the folder.
        case listed([SharingGroupUUID])
        /// For everybody else: a text that only the server can open.
        case sealed([UInt8])
    }

    public struct Account: Sendable, Equatable {
        public var type: AccountType
        /// The account provider's identifier of the person.
        public var id: String

        public init(type: AccountType, id: String) {
            self.type = type
            self.id = id
        }
    }

    public init(
        userID: UserID, identity: [UInt8], account: Account?, name: String, permission: Permission, isOwning: Bool,
        owningUserID: UserID?, joinedAt: WireDate, userAppID: UserAppID? = nil, accountEpoch: AccountEpoch? = nil,
        otherGroups: OtherGroups? = nil
    ) {
        self.userID = userID
        self.identity = identity
        self.account = account
        self.name = name
        self.permission = permission
        self.isOwning = isOwning
        self.owningUserID = owningUserID
        self.joinedAt = joinedAt
        self.userAppID = userAppID
        self.accountEpoch = accountEpoch
        self.otherGroups = otherGroups
    }
}

/// A file of the group, of any owner; or a deleted one, which must not come back.
public struct ManifestFile: Sendable, Equatable {
    /// Whose storage contains the object, and of what kind it is.
    public struct Owner: Sendable, Hashable {
        public var userID: UserID
        public var storageType: CloudStorageType

        public init(userID: UserID, storageType: CloudStorageType) {
            self.userID = userID
            self.storageType = storageType
        }
    }

    /// Whether the owner's storage contains the bytes.
    public enum State: Int, Sendable, CaseIterable {
        case stored = 0
        /// The owner has switched accounts; a device has to upload the bytes again.
        case awaiting = 1
        /// The owner has given up on the bytes; a device may still upload them.
        case missing = 2
        /// The members have deleted the file.
        case deleted = 3
    }

    public var fileUUID: FileUUID
    public var fileGroupUUID: FileGroupUUID?
    public var owner: Owner
    /// The device that uploaded the current version.
    public var deviceUUID: DeviceUUID
    public var fileVersion: FileVersion
    public var mimeType: MIMEType
    public var createdAt: WireDate
    public var updatedAt: WireDate
    public var sizeBytes: Int64?
    public var appMetaData: AppMetaData?
    public var state: State
    /// The whole checksum that clients compare, or its first ``GroupManifest/checkSumPrefixBytes``; empty if unknown, or
    /// if the file is deleted.
    public var checkSumBytes: [UInt8]
    /// The beginning of the storage's own hash, in its own spelling, if it differs from the checksum.
    public var storageHash: String?
    /// The object's name, if it is not ``CloudFileName`` with the type's extension.
    public var objectName: String?

    public init(
        fileUUID: FileUUID, fileGroupUUID: FileGroupUUID?, owner: Owner, deviceUUID: DeviceUUID,
        fileVersion: FileVersion, mimeType: MIMEType, createdAt: WireDate, updatedAt: WireDate, sizeBytes: Int64?,
        appMetaData: AppMetaData?, state: State, checkSumBytes: [UInt8], storageHash: String? = nil,
        objectName: String? = nil
    ) {
        self.fileUUID = fileUUID
        self.fileGroupUUID = fileGroupUUID
        self.owner = owner
        self.deviceUUID = deviceUUID
        self.fileVersion = fileVersion
        self.mimeType = mimeType
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.sizeBytes = sizeBytes
        self.appMetaData = appMetaData
        self.state = state
        self.checkSumBytes = checkSumBytes
        self.storageHash = storageHash
        self.objectName = objectName
    }

    /// The name of the object in the owner's folder. Where names are unique and another object had it, the object has
    /// the same name with `~` and eight digits before the extension.
    public var cloudName: String {
        objectName
            ?? CloudFileName(
                fileUUID: fileUUID, deviceUUID: deviceUUID, fileVersion: fileVersion,
                fileExtension: mimeType.fileExtension
            ).rawValue
    }

    /// The checksum that clients compare; nil if the manifest contains only its beginning, or nothing.
    public var checkSum: CheckSum? {
        let flavour = CheckSum.Flavour.allCases.first { $0.digitCount == 2 * checkSumBytes.count }
        return flavour.flatMap { CheckSum(digest: checkSumBytes, flavour: $0) }
    }

    /// Whether bytes with this checksum can be those of the file; true if no checksum is known.
    public func fits(digest: some Collection<UInt8>) -> Bool { digest.starts(with: checkSumBytes) }
}

/// Why a file is not a usable manifest.
public enum ManifestError: Error, Equatable {
    /// The first line is not that of a manifest.
    case notAManifest
    /// The format is newer than ``GroupManifest/format``.
    case newerFormat(Int)
    /// The file ends before its signature.
    case truncated
    /// A line is malformed; the number of the line, beginning with 1.
    case damaged(line: Int)
    /// It exceeds a limit of ``GroupManifest``; no server writes such manifests.
    case tooLarge
    /// The signature is not one of the expected key over these lines.
    case wrongSignature
}

extension ManifestError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAManifest: "the file is not a manifest"
        case .newerFormat(let format):
            "the manifest has format \(format), and this program reads format \(GroupManifest.format): use a newer one"
        case .truncated: "the manifest is cut short"
        case .damaged(let line): "line \(line) of the manifest is damaged"
        case .tooLarge: "the manifest is larger than any that a server writes"
        case .wrongSignature: "the signature does not match: the manifest was changed, or another server signed it"
        }
    }
}
