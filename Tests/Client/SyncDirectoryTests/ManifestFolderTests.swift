import Foundation
import Gzip
import OpenSSLCrypto
import SyncProtocol
import Testing

@testable import SyncDirectory

/// A downloaded folder becomes ordinary files, whatever the folder contains.
@Suite("Reading manifests without a server")
struct ManifestFolderTests {
    private let folder: URL
    private let output: URL
    private let key: Ed25519Key
    private let group = SharingGroupUUID(UUID().uuidString)!
    private let owner = ManifestFile.Owner(userID: UserID(1), storageType: .google)

    init() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID().uuidString)")
        folder = root.appending(path: "folder")
        output = root.appending(path: "output")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        key = try Ed25519Key(seed: [UInt8](repeating: 1, count: 32))
    }

    private func file(
        _ bytes: String, metaData: String? = nil, type: MIMEType = .text, group: FileGroupUUID? = nil,
        owner: ManifestFile.Owner? = nil, state: ManifestFile.State = .stored
    ) -> ManifestFile {
        ManifestFile(
            fileUUID: FileUUID(UUID().uuidString)!, fileGroupUUID: group, owner: owner ?? self.owner,
            deviceUUID: DeviceUUID(UUID().uuidString)!, fileVersion: .first, mimeType: type,
            createdAt: WireDate(secondsSince1970: 1_790_000_000), updatedAt: WireDate(secondsSince1970: 1_790_000_100),
            sizeBytes: Int64(bytes.utf8.count),
            appMetaData: metaData.map { AppMetaData(version: .first, contents: $0) }, state: state,
            checkSumBytes: Array(IncrementalDigest.digest(of: Array(bytes.utf8), .md5).prefix(8)))
    }

    private func manifest(_ files: [ManifestFile], name: String = "Trip", damaged: Bool = false) throws -> [UInt8] {
        var writer = ManifestWriter(
            ManifestHeader(
                groupUUID: group, groupName: name, createdAt: nil, masterVersion: MasterVersion(1), restoreMark: nil,
                restoredMasterVersion: nil, writtenAt: WireDate(secondsSince1970: 1_790_000_000), serverURL: nil,
                ownerID: UserID(1), salt: [], publicKey: key.publicKey))
        writer.add(
            ManifestMember(
                userID: UserID(1), identity: [UInt8](repeating: 0, count: 16), account: nil, name: "Ada",
                permission: .admin, isOwning: true, owningUserID: nil, joinedAt: WireDate(secondsSince1970: 0)))
        for file in files { writer.add(file) }
        writer.endFiles()
        let digest = damaged ? [] : IncrementalDigest.digest(of: writer.output, .sha256)
        writer.finish(signature: try key.signature(over: GroupManifest.signedMessage(sha256: digest)))
        var stream = GzipStream()
        stream.append(writer.output.span)
        stream.finish()
        return stream.output
    }

    private func put(_ name: String, _ bytes: some Sequence<UInt8>) throws {
        try Data(bytes).write(to: folder.appending(path: name))
    }

    private func put(_ files: [ManifestFile], named name: String = "Trip", sequence: Int64 = 1) throws {
        try put(ManifestName(groupUUID: group, sequence: sequence).rawValue, manifest(files, name: name))
    }

    private func export(keys: [[UInt8]] = []) throws -> [ManifestExport.Item] {
        let source = try ManifestFolder(path: folder.path, keys: keys)
        let export = try ManifestExport(source, to: output.path)
        return try source.groups.flatMap { try export.write($0) }
    }

    private func written() throws -> [String: String] {
        var found: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: output.path) {
            let url = output.appending(path: path)
            if let text = try? String(contentsOf: url, encoding: .utf8) { found[path] = text }
        }
        return found
    }

    @Test("Files get readable names, and a repeated export changes nothing")
    func names() throws {
        let photo = FileGroupUUID(UUID().uuidString)!
        let discussion = #"{"title":"Sunset: 1/2","messages":[]}"#
        let files = [
            file("a note", metaData: #"{"path":"notes/a.txt","modified":1}"#),
            file("JPEG", type: .jpeg, group: photo), file(discussion, group: photo),
            file("titled", metaData: #"{"title":"Once"}"#), file("nameless"),
        ]
        let bytes = ["a note", "JPEG", discussion, "titled", "nameless"]
        for (file, bytes) in zip(files, bytes) { try put(file.cloudName, bytes.utf8) }
        try put(files)

        for _ in 0..<2 {
            let items = try export(keys: [key.publicKey])
            #expect(items.allSatisfy { $0.outcome == .written && $0.owner == "Ada" })
            let mark = files[4].fileUUID.rawValue.prefix(8)
            #expect(
                try written() == [
                    "Trip/notes/a.txt": "a note", "Trip/Sunset_ 1_2.jpg": "JPEG", "Trip/Sunset_ 1_2.txt": discussion,
                    "Trip/Once.txt": "titled", "Trip/2026-09-21 14.13.20 \(mark).txt": "nameless",
                ])
        }
    }

    @Test("Missing and changed files are listed, and those of others")
    func problems() throws {
        let other = ManifestFile.Owner(userID: UserID(2), storageType: .google)
        let files = [
            file("present"), file("gone"), file("others", owner: other), file("deleted", state: .deleted),
            file("awaited", state: .awaiting), file("original"), file("spare"),
        ]
        try put(files[0].cloudName, "present".utf8)
        try put(files[5].cloudName, "EDITED!!".utf8)
        // The name was in use when the server stored the object.
        try put(files[6].cloudName, "another file of the person".utf8)
        try put(files[6].cloudName.replacing(".txt", with: "~0a1b2c3d.txt"), "spare".utf8)
        try put(files)
        let outcomes = try export().map(\.outcome)
        #expect(outcomes == [.written, .missing, .elsewhere, .absent, .changed, .written])
        #expect(try Set(written().values) == ["present", "EDITED!!", "spare"])
    }

    @Test("Hostile names stay below the output, and replace nothing")
    func hostileNames() throws {
        let paths = [
            "../../outside.txt", "/etc/passwd", "a/../../b", "", ".", "x\u{0}y", "dir/file", "dir", "a\nb",
            "link/escape",
        ]
        let files = paths.map { path in
            let json = try? JSONEncoder().encode(["path": path])
            return file("bytes of \(path.count)", metaData: json.map { String(decoding: $0, as: UTF8.self) })
        }
        for (file, path) in zip(files, paths) { try put(file.cloudName, "bytes of \(path.count)".utf8) }
        try put(files, named: "../Trip")
        let outside = output.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: output.appending(path: "_Trip"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: output.appending(path: "_Trip/link"), withDestinationURL: outside)
        try Data("mine".utf8).write(to: output.appending(path: "_Trip/dir"))
        let before = try FileManager.default.contentsOfDirectory(atPath: outside.path).sorted()

        let items = try export()

        #expect(items.allSatisfy { $0.outcome == .written })
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).sorted() == before)
        #expect(try written()["_Trip/dir"] == "mine")
        #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["_Trip"])
    }

    @Test("Equal names, and names that differ only in letter case, become different files")
    func similarNames() throws {
        let paths = ["Notes/A.txt", "notes/a.txt", "Notes/A.txt", "NOTES/a.TXT"]
        let files = paths.map { file($0 + " 1", metaData: #"{"path":"\#($0)"}"#) }
        // The third has the same path as the first, and other contents.
        let texts = paths.enumerated().map { $0.offset == 2 ? "other text!!" : $0.element + " 1" }
        var stated = files
        stated[2].checkSumBytes = Array(IncrementalDigest.digest(of: Array(texts[2].utf8), .md5).prefix(8))
        stated[2].sizeBytes = Int64(texts[2].utf8.count)
        for (file, text) in zip(stated, texts) { try put(file.cloudName, text.utf8) }
        try put(stated)
        for _ in 0..<2 {
            #expect(try export().allSatisfy { $0.outcome == .written })
            #expect(try written().values.sorted() == texts.sorted())
        }
        #expect(try written()["Trip/Notes/A (2).txt"] == texts[2])
    }

    @Test("Objects with another size or checksum are written and listed; nothing outside the folder is read")
    func strangeObjects() throws {
        let outside = folder.deletingLastPathComponent().appending(path: "outside.txt")
        try Data(#"{"title":"secret"}"#.utf8).write(to: outside)
        let group = FileGroupUUID(UUID().uuidString)!
        var files = [
            file("long"), file("same size"), file("x", group: group), file("linked"), file("a folder"),
            file("JPEG", type: .jpeg, group: group),
        ]
        files[2].objectName = "../outside.txt"
        files[3].objectName = "link"
        files[4].objectName = "directory"
        try put(files[0].cloudName, "longer".utf8)
        try put(files[1].cloudName, "SAME SIZE".utf8)
        try put(files[5].cloudName, "JPEG".utf8)
        try FileManager.default.createSymbolicLink(
            at: folder.appending(path: "link"), withDestinationURL: outside)
        try FileManager.default.createDirectory(
            at: folder.appending(path: "directory"), withIntermediateDirectories: false)
        try put(files)
        let items = try export()
        #expect(items.map(\.outcome) == [.changed, .changed, .missing, .missing, .missing, .written])
        #expect(try Set(written().values) == ["longer", "SAME SIZE", "JPEG"])
        #expect(try written().keys.allSatisfy { !$0.contains("secret") })
    }

    @Test("Manifests of a newer format, decompression bombs and invalid files are listed, each with its reason")
    func unusable() throws {
        func name(_ sequence: Int64) -> String { ManifestName(groupUUID: group, sequence: sequence).rawValue }
        func compressed(_ text: String, times: Int = 1) -> [UInt8] {
            var stream = GzipStream()
            for _ in 0..<times { stream.append(Array(text.utf8).span) }
            stream.finish()
            return stream.output
        }
        // 80 MiB in one line.
        try put(name(1), compressed(String(repeating: " ", count: 1 << 20), times: 80))
        try put(name(2), compressed("{\"manifest\":{\"format\":2}}\n"))
        try put(name(3), compressed("[1,2]\n"))
        try put(name(4), "not compressed".utf8)
        // A manifest of another group.
        let other = ManifestName(groupUUID: SharingGroupUUID(UUID().uuidString)!, sequence: 5).rawValue
        try put(other, manifest([]))
        try FileManager.default.createDirectory(at: folder.appending(path: name(6)), withIntermediateDirectories: true)
        // A sparse file, without blocks on the disk.
        try put(name(7), [])
        let large = try FileHandle(forWritingTo: folder.appending(path: name(7)))
        try large.truncate(atOffset: UInt64(GroupManifest.maximumBytes) + 1)
        try large.close()
        #expect(unsafe mkfifo(folder.appending(path: name(8)).path, 0o600) == 0)

        let source = try ManifestFolder(path: folder.path, keys: [])
        let reasons = Dictionary(uniqueKeysWithValues: source.damages.map { ($0.name, $0.reason) })
        #expect(source.groups.isEmpty && source.damages.count == 8)
        #expect(reasons[name(1)] == ManifestError.tooLarge.description)
        #expect(reasons[name(2)] == ManifestError.newerFormat(2).description)
        #expect(reasons[name(3)] == ManifestError.notAManifest.description)
        #expect(reasons[name(4)] == ManifestError.truncated.description)
        #expect(reasons[other] == ManifestError.notAManifest.description)
        #expect(reasons[name(6)] == ManifestError.notAManifest.description)
        #expect(reasons[name(7)] == ManifestError.tooLarge.description)
        #expect(reasons[name(8)] == ManifestError.notAManifest.description)
    }

    @Test("The newest intact manifest is used; a forged one is ignored")
    func forgery() throws {
        let kept = file("kept")
        try put(kept.cloudName, "kept".utf8)
        try put([kept], sequence: 1)
        try put(ManifestName(groupUUID: group, sequence: 2).rawValue, manifest([], damaged: true))
        try put(ManifestName(groupUUID: group, sequence: 3).rawValue, manifest([kept]).dropLast(30))
        let source = try ManifestFolder(path: folder.path, keys: [])
        #expect(source.groups.map(\.source) == [ManifestName(groupUUID: group, sequence: 1).rawValue])
        #expect(source.damages.map(\.reason) == [ManifestError.wrongSignature, .truncated].map(\.description))

        let other = try Ed25519Key(seed: [UInt8](repeating: 2, count: 32))
        let strict = try ManifestFolder(path: folder.path, keys: [other.publicKey])
        #expect(strict.groups.isEmpty && strict.damages.count == 3)
        #expect(try ManifestFolder(path: folder.path, keys: [key.publicKey]).groups.first?.hasExpectedKey == true)
    }
}
