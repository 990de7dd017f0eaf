import Gzip
import OpenSSLCrypto
import Store
import SyncProtocol
import Vault

/// A manifest that was read completely.
struct ReadManifest {
    private static let maximumOtherGroups = 10_000

    let header: ManifestHeader
    let members: [ManifestMember]
    let files: [ManifestFile]
    /// SHA-256 of the signed text.
    let digest: [UInt8]
    /// Whether a known key has signed it.
    let isSigned: Bool

    /// - Parameter keys: the known public keys.
    /// - Throws: ``ManifestError``, `GzipError`. A wrong signature is not an error: the operator may trust the bytes.
    init(_ bytes: [UInt8], keys: [[UInt8]]) throws {
        var lines = try GzipLineReader(reading: bytes)
        var (reader, text) = (ManifestReader(), StorableDigest(.sha256))
        var (header, members, files) = (nil as ManifestHeader?, [ManifestMember](), [ManifestFile]())
        var (digest, isSigned) = ([UInt8](), false)
        while let line = try lines.next() {
            switch try reader.read(line) {
            case .header(let read): header = read
            case .member(let member): members.append(member)
            case .files(let read): files += read
            case .signature(let signature):
                digest = text.finish()
                let message = GroupManifest.signedMessage(sha256: digest)
                isSigned = keys.contains { Ed25519Key.verifies(signature, over: message, by: $0) }
            case .unknown: break
            }
            text.update(line + [UInt8(ascii: "\n")])
        }
        try reader.end()
        guard let header, Set(members.map(\.userID)).count == members.count, Self.isPlausible(header),
            members.allSatisfy({ Self.isPlausible($0) }), files.allSatisfy({ Self.isPlausible($0) })
        else { throw ManifestError.notAManifest }
        self.header = header
        self.members = members
        self.files = files
        self.digest = digest
        self.isSigned = isSigned
    }

    // Anybody who can write to the folder can write any values, so these must fit into the database, and leave room to
    // rise.

    private static func isPlausible(_ header: ManifestHeader) -> Bool {
        (0...1 << 53).contains(header.masterVersion.rawValue) && (1...64).contains(header.salt.count)
            && (header.groupName?.unicodeScalars.count ?? 0) <= 255 && header.ownerID.rawValue > 0
    }

    private static func isPlausible(_ member: ManifestMember) -> Bool {
        if case .listed(let groups) = member.otherGroups, groups.count > maximumOtherGroups { return false }
        return (0...Int64(Int32.max)).contains(member.accountEpoch?.rawValue ?? 0) && member.userID.rawValue > 0
            && member.name.unicodeScalars.count <= 255
    }

    private static func isPlausible(_ file: ManifestFile) -> Bool {
        let versions = 0...Int32.max / 2
        return versions.contains(file.fileVersion.rawValue)
            && (file.appMetaData.map { versions.contains($0.version.rawValue) && $0.contents.utf8.count <= 65_535 }
                ?? true)
            && file.cloudName.utf8.count <= 255 && (file.storageHash?.utf8.count ?? 0) <= 64
            && file.storageHash?.utf8.allSatisfy { $0 < 0x80 } != false && file.mimeType.rawValue.utf8.count <= 100
    }

    var stand: ManifestStand {
        ManifestStand(
            restoreMark: header.restoreMark, masterVersion: header.masterVersion, writtenAt: header.writtenAt)
    }

    /// Whether it was written for a user's folder, and names the user's account as a member.
    func names(_ user: UserRecord) -> Bool {
        let identity = ManifestIdentity.hash(user.accountType, user.providerUserID, salt: header.salt)
        return members.contains { $0.userID == header.ownerID && $0.identity == identity }
    }

    /// The owner in whose folder it is, as a member.
    var reader: ManifestMember? { members.first { $0.userID == header.ownerID } }

    /// The other groups with files that a member is in; `nil` if the manifest does not reveal them here.
    func otherGroups(of member: ManifestMember, _ vault: CredentialVault) -> [SharingGroupUUID]? {
        switch member.otherGroups {
        case nil: nil
        case .listed(let groups): groups
        case .sealed(let bytes): vault.openOtherGroups(bytes, of: member.userID, in: header.groupUUID)
        }
    }

    /// The summary that the operator sees.
    func claim(of userID: UserID) -> RebuildClaim {
        RebuildClaim(
            groupUUID: header.groupUUID, userID: userID, digest: digest, groupName: header.groupName,
            masterVersion: header.masterVersion, writtenAt: header.writtenAt, members: members.count,
            adminNames: members.filter { $0.permission == .admin }.map(\.name).joined(separator: ", "),
            liveFiles: files.count { $0.state != .deleted })
    }
}
