internal import Foundation
internal import StorageHashes
package import SyncProtocol

#if os(Linux)
    internal import Gzip
#else
    internal import Compression
#endif

/// A copy of the folder that a server kept in somebody's storage: objects, and the manifests that describe them
/// (docs/manifest.md). Neither the server nor the app is needed to read it.
///
/// Anybody who had the folder may have changed any file in it, so the reader trusts only verified data, and holds at
/// most ``maximumFiles`` files of all manifests.
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
    private var fileCount = 0

    /// The limit for the files of all manifests of a folder together.
    private static let maximumFiles = 2 * GroupManifest.maximumFiles

    /// Reads all manifests in a folder.
    /// - Parameter keys: the public keys of which one must have signed each manifest; empty if they are unknown.
    package init(path: String, keys: [[UInt8]]) throws(DiskError) {
        folder = try FileCalls.openFolder(atPath: path)
        names = Set(try FileCalls.names(in: folder).compactMap(\.text))
        let manifests = Dictionary(grouping: names.compactMap { ManifestName($0) }, by: \.groupUUID)
        for versions in manifests.values {
            for name in versions.sorted(by: { $0.sequence > $1.sequence }) {
                do {
                    let group = try read(name.rawValue, of: name.groupUUID, keys)
                    groups.append(group)
                    fileCount += group.files.count
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
        guard case .file(let signature) = try FileCalls.item(file) else { throw ManifestError.notAManifest }
        guard signature.size <= GroupManifest.maximumBytes else { throw ManifestError.tooLarge }
        var bytes = [UInt8](repeating: 0, count: Int(signature.size))
        guard try FileCalls.read(file, into: &bytes) == bytes.count else { throw ManifestError.truncated }
        var (reader, digest, read, isSigned) = (ManifestReader(), FileDigest(.sha256), nil as Group?, false)
        try Self.forEachLine(of: bytes) { line in
            switch try reader.read(line) {
            case .header(let header): read = Group(header: header, source: name)
            case .member(let member): read?.members.append(member)
            case .files(let files):
                read?.files += files
                guard fileCount + (read?.files.count ?? 0) <= Self.maximumFiles else { throw ManifestError.tooLarge }
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
            } catch GzipError.lineTooLong {
                throw ManifestError.tooLarge
            }
        }
    #else
        private static func forEachLine(of bytes: [UInt8], _ body: @escaping ([UInt8]) throws -> Void) throws {
            // Apple's filter handles only the compressed bytes; servers write a header of ten bytes, and a trailer of
            // eight (RFC 1952), whose checksum the signature makes unnecessary.
            guard bytes.starts(with: [0x1F, 0x8B, 8, 0]), bytes.count > 18 else { throw ManifestError.notAManifest }
            var line: [UInt8] = []
            let filter = try OutputFilter(.decompress, using: .zlib) { (text: Data?) in
                for byte in text ?? Data() {
                    if byte == UInt8(ascii: "\n") {
                        try body(line)
                        line.removeAll(keepingCapacity: true)
                    } else {
                        line.append(byte)
                    }
                }
                guard line.count <= GroupManifest.maximumBytes else { throw ManifestError.tooLarge }
            }
            try filter.write(bytes[10..<bytes.count - 8])
            try filter.finalize()
            guard line.isEmpty else { throw ManifestError.truncated }
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
