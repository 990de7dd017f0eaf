import Gzip
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Vault

/// Compares the manifests in one owner's folder with the database.
///
/// A manifest older than its group is compared as far as possible: the group may just have changed. A repair only marks
/// the manifests that the jobs role has to rewrite.
struct ManifestComparison {
    let owner: OwningUser
    let look: ObjectLook
    /// The public keys of this server.
    let keys: [[UInt8]]
    /// The owner's groups without a manifest of their current state.
    let neglected: [StoreSession.NeglectedManifest]

    /// - Returns: the number of manifests.
    func run() throws -> Int {
        let manifests = try look.store.withSession { try $0.manifests(of: owner.userID) }
        // Manifests that are marked for repair are about to be rewritten.
        for manifest in manifests where manifest.masterVersion.rawValue >= 0 {
            guard let object = try look.describe(manifest.objectID) else {
                try report(.manifestMissing, manifest, "the object does not exist")
                continue
            }
            do {
                if let difference = try difference(of: try read(object), from: manifest) {
                    try report(.manifestDiffers, manifest, difference)
                }
            } catch let error as ManifestError {
                try report(.manifestDamaged, manifest, "\(error)")
            } catch let error as GzipError {
                try report(.manifestDamaged, manifest, "\(error)")
            }
        }
        for group in neglected {
            if look.repairs {
                try look.store.transaction { try $0.rescanManifests(of: group.groupID) }
                look.repaired(.manifestOutdated)
            } else {
                let row = "user \(owner.userID), group \(group.groupUUID)"
                look.report(.manifestOutdated, Violation(row: row, detail: "no other one is scheduled"))
            }
        }
        return manifests.count
    }

    private func report(_ problem: CloudProblem, _ manifest: ManifestRecord, _ detail: String) throws {
        let present = try look.store.withSession { try $0.manifest(of: manifest.groupID, in: owner.userID) }
        // The manifest may have been replaced during the request.
        guard present == manifest else { return }
        guard look.repairs else {
            return look.report(
                problem,
                Violation(
                    row: "user \(owner.userID), group number \(manifest.groupID.rawValue)", detail: detail))
        }
        let isRenewed = try look.store.transaction { session in
            try session.renew(manifest, isUnusable: problem != .manifestDiffers, at: look.store.now)
        }
        if isRenewed { look.repaired(problem) }
    }

    private struct Contents {
        var header: ManifestHeader
        var states: [FileUUID: (version: FileVersion, state: ManifestFile.State)] = [:]
    }

    private func read(_ object: StoredObject) throws -> Contents {
        guard object.sizeBytes <= GroupManifest.maximumBytes else { throw ManifestError.tooLarge }
        var bytes: [UInt8] = []
        try look.patiently { storage throws(CloudStorageError) in
            bytes.removeAll()
            try storage.provider.download(
                objectID: object.objectID, from: storage.access,
                receive: { piece in
                    for index in piece.indices { bytes.append(piece[index]) }
                    return bytes.count <= GroupManifest.maximumBytes
                })
        }
        var lines = try GzipLineReader(reading: bytes)
        var (reader, digest, contents) = (ManifestReader(), StorableDigest(.sha256), nil as Contents?)
        while let line = try lines.next() {
            switch try reader.read(line) {
            case .header(let header): contents = Contents(header: header)
            case .files(let files):
                for file in files { contents?.states[file.fileUUID] = (file.fileVersion, file.state) }
            case .signature(let signature):
                let message = GroupManifest.signedMessage(sha256: digest.finish())
                guard keys.contains(where: { Ed25519Key.verifies(signature, over: message, by: $0) }) else {
                    throw ManifestError.wrongSignature
                }
            case .member, .unknown: break
            }
            digest.update(line + [UInt8(ascii: "\n")])
        }
        try reader.end()
        guard let contents else { throw ManifestError.notAManifest }
        return contents
    }

    private func difference(of contents: Contents, from manifest: ManifestRecord) throws -> String? {
        var contents = contents
        return try look.store.snapshot { session -> String? in
            guard let group = try session.manifestGroup(manifest.groupID) else { return nil }
            guard group.groupUUID == contents.header.groupUUID else { return "it is the manifest of another group" }
            // While the manifest waits to be rewritten with the members' other groups, the recorded version is not one
            // of the group.
            guard manifest.isOutdated || contents.header.masterVersion == manifest.masterVersion else {
                return "it has master version \(contents.header.masterVersion), not \(manifest.masterVersion)"
            }
            guard group.masterVersion == manifest.masterVersion else { return nil }
            var difference: String?
            try session.manifestFiles(of: manifest.groupID) { file, _ in
                let stated = contents.states.removeValue(forKey: file.fileUUID)
                let isSame = stated.map { $0.version == file.fileVersion && ($0.state == .deleted) == file.isDeleted }
                if isSame != true { difference = difference ?? "file \(file.fileUUID) differs or is missing" }
            }
            if let surplus = contents.states.keys.first {
                difference = difference ?? "it contains an unknown file \(surplus)"
            }
            return difference
        }
    }
}
