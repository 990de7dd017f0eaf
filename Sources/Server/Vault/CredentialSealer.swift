import FoundationEssentials
public import OpenSSLCrypto
public import Providers
public import SyncProtocol

/// Seals stored credentials for the database and unseals them.
///
/// The location of a record is bound into it as additional data, so that a record copied to another row cannot be
/// opened there.
public struct CredentialSealer: Sendable {
    /// The location of a sealed record.
    public enum Place: Sendable {
        /// Column `credentials` of the user's row.
        case user(UserID)
        /// The result of an exchanged authorization code, by the code's SHA-256.
        case code([UInt8])
        /// The state with which a provider continues an upload.
        case upload(UploadUUID)
        /// An account that a user had in that epoch and has left, while contents are moved out of it: never opened as
        /// the user's current one.
        case formerAccount(UserID, AccountEpoch)
        /// The other groups of a user, in the manifest of that group.
        case otherGroups(UserID, SharingGroupUUID)

        var additionalData: [UInt8] {
            switch self {
            case .user(let userID): Array("users.credentials:\(userID.rawValue)".utf8)
            case .code(let hash): Array("exchanged_codes.credentials:".utf8) + hash
            case .upload(let uploadUUID): Array("resumable_uploads.session:\(uploadUUID.rawValue.uppercased())".utf8)
            case .formerAccount(let userID, let epoch):
                Array("account_moves.credentials:\(userID.rawValue):\(epoch.rawValue)".utf8)
            case .otherGroups(let userID, let group):
                Array("manifest.otherGroups:\(userID.rawValue):\(group.rawValue.uppercased())".utf8)
            }
        }
    }

    private let keys: KeyRing

    public init(keys: KeyRing) {
        self.keys = keys
    }

    /// - Throws: ``CryptoError`` if OpenSSL cannot provide random bytes.
    public func seal(_ credentials: StoredCredentials, for place: Place) throws -> [UInt8] {
        try seal([UInt8](try JSONEncoder().encode(credentials)), for: place)
    }

    /// Seals a secret that is not credentials.
    /// - Throws: like ``seal(_:for:)-(StoredCredentials,_)``.
    func seal(_ plaintext: [UInt8], for place: Place) throws -> [UInt8] {
        try SealedBox.seal(plaintext, key: keys.current, additionalData: place.additionalData)
    }

    /// Opens a record from ``seal(_:for:)-([UInt8],_)``.
    /// - Throws: like ``open(_:from:)``.
    func openBytes(_ record: [UInt8], from place: Place) throws -> [UInt8] {
        try SealedBox.open(record, keys: keys, additionalData: place.additionalData)
    }

    /// - Throws: ``CryptoError`` if the record is damaged, comes from another location, or is sealed with an unknown
    ///   key.
    public func open(_ record: [UInt8], from place: Place) throws -> StoredCredentials {
        let plaintext = try SealedBox.open(record, keys: keys, additionalData: place.additionalData)
        return try JSONDecoder().decode(StoredCredentials.self, from: Data(plaintext))
    }
}
