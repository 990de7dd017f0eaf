internal import Foundation
internal import StorageHashes
package import SyncProtocol

#if os(Linux)
    internal import Gzip
#endif

/// A copy of the folder that a server kept in somebody's storage: objects, and the manifests that describe them
/// (docs/manifest.md). Neither the server nor the app is needed to read it.
///
/// Anybody who had the folder may have changed any file in it, so the reader trusts nothing that it has not verified.
package struct ManifestFolder {
    /// What the newest intact manifest of a group states.
    package struct Group: Sendable {
        package var header: ManifestHeader
        package var members: [ManifestMember] = []
        package var files: [ManifestFile] = []
        /// The manifest's name.
        package var source: String
        /// Whether the signature is that of an expected key; otherwise it is that of the key that the manifest itself
        /// states, which shows only that it is complete.
        package var hasExpectedKey = false
    }

    /// A manifest that cannot be used.
    package struct Damage: Sendable {
        package var name: String
        package var reason: String
    }

    /// The groups, in the order of their names.
    package private(set) var groups: [Group] = []
    package private(set) var damages: [Damage] = []
    let folder: Descriptor
    /// The names in the folder; objects and everything else.
    let names: Set<String>

    /// Reads all manifests in a folder.
    /// - Parameter keys: the public keys of which one must have signed each manifest; empty if they are unknown.
    package init(path: String, keys: [[UInt8]]) throws(DiskError) {
        folder = try FileCalls.openFolder(atPath: path)
        names = Set(try FileCalls.names(in: folder).compactMap(\.text))
        let manifests = Dictionary(grouping: names.compactMap { ManifestName($0) }, by: \.groupUUID)
        for versions in manifests.values {
            for name in versions.sorted(by: { $0.sequence > $1.sequence }) {
                do {
                    groups.append(try read(name.rawValue, of: name.groupUUID, keys))
                    break
                } catch {
                    damages.append(Damage(name: name.rawValue, reason: "\(error)"))
                }
            }
        }
        groups.sort { ($0.header.groupName ?? "", $0.source) < ($1.header.groupName ?? "", $1.source) }
        damages.sort { $0.name < $1.name }
    }

    private func read(_ name: String, of groupUUID: SharingGroupUUID, _ keys: [[UInt8]]) throws -> Group {
        let file = try FileCalls.openFile(name, in: folder.number)
        var bytes: [UInt8] = []
        try FileCalls.forEachChunk(of: file) { (chunk: ArraySlice<UInt8>) throws(DiskError) in bytes += chunk }
        var (reader, digest, read, isSigned) = (ManifestReader(), FileDigest(.sha256), nil as Group?, false)
        try Self.forEachLine(of: bytes) { line in
            switch try reader.read(line) {
            case .header(let header): read = Group(header: header, source: name)
            case .member(let member): read?.members.append(member)
            case .files(let files): read?.files += files
            case .signature(let signature):
                let message = GroupManifest.signedMessage(sha256: digest.finish())
                let candidates = keys.isEmpty ? [read?.header.publicKey ?? []] : keys
                guard candidates.contains(where: { Ed25519.verifies(signature, over: message, by: $0) }) else {
                    throw ManifestError.wrongSignature
                }
                isSigned = true
            case .unknown: break
            }
            digest.update(line + [UInt8(ascii: "\n")])
        }
        try reader.end()
        guard var read, isSigned, read.header.groupUUID == groupUUID else { throw ManifestError.notAManifest }
        read.hasExpectedKey = !keys.isEmpty
        return read
    }

    #if os(Linux)
        private static func forEachLine(of bytes: [UInt8], _ body: ([UInt8]) throws -> Void) throws {
            var lines = try GzipLineReader(reading: bytes)
            do {
                while let line = try lines.next() { try body(line) }
            } catch GzipError.damaged {
                throw ManifestError.truncated
            }
        }
    #else
        private static func forEachLine(of bytes: [UInt8], _ body: ([UInt8]) throws -> Void) throws {
            // Foundation knows the compressed bytes only; servers write a header of ten bytes, and a trailer of eight
            // (RFC 1952), whose checksum the signature makes unnecessary.
            guard bytes.starts(with: [0x1F, 0x8B, 8, 0]), bytes.count > 18 else { throw ManifestError.notAManifest }
            let text = try NSData(data: Data(bytes[10..<bytes.count - 8])).decompressed(using: .zlib)
            let lines = Data(referencing: text).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            guard lines.last?.isEmpty == true else { throw ManifestError.truncated }
            for line in lines.dropLast() { try body(Array(line)) }
        }
    #endif

    /// A checksum over a file's bytes, in the kind of the storage that contained it.
    struct Check {
        private enum Hash {
            case digest(FileDigest)
            case dropbox(DropboxContentHash)
        }

        private var hash: Hash
        private(set) var sizeBytes: Int64 = 0

        init(_ storageType: CloudStorageType) {
            hash =
                switch storageType.checkSumFlavour {
                case .md5: .digest(FileDigest(.md5))
                case .sha1: .digest(FileDigest(.sha1))
                case .dropboxContentHash: .dropbox(DropboxContentHash())
                }
        }

        mutating func update(_ chunk: ArraySlice<UInt8>) {
            sizeBytes += Int64(chunk.count)
            switch hash {
            case .digest(var digest):
                digest.update(chunk)
                hash = .digest(digest)
            case .dropbox(var digest):
                digest.update(chunk)
                hash = .dropbox(digest)
            }
        }

        /// Whether the bytes are those that a manifest states.
        func fits(_ file: ManifestFile) -> Bool {
            let digest =
                switch hash {
                case .digest(let digest): digest.finish()
                case .dropbox(let digest): digest.finish()
                }
            return file.fits(digest: digest) && (file.sizeBytes ?? sizeBytes) == sizeBytes
        }
    }
}
