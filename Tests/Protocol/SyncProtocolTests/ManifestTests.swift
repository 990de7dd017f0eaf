import Foundation
import Gzip
import OpenSSLCrypto
import SyncProtocol
import Testing

/// The contents of a manifest must round-trip unchanged, and no other text may be accepted as a manifest.
@Suite("Group manifests")
struct ManifestTests {
    /// Everything that a manifest contains.
    private struct Contents: Equatable {
        var header: ManifestHeader
        var members: [ManifestMember] = []
        var files: [ManifestFile] = []

        /// The text, with a signature.
        func text(_ key: Ed25519Key) throws -> [UInt8] {
            var writer = ManifestWriter(header)
            for member in members { writer.add(member) }
            for file in files { writer.add(file) }
            writer.endFiles()
            let digest = IncrementalDigest.digest(of: writer.output, .sha256)
            writer.finish(signature: try key.signature(over: GroupManifest.signedMessage(sha256: digest)))
            return writer.output
        }

        /// Reads a text as every reader must.
        init(_ text: [UInt8], key: [UInt8]) throws {
            var reader = ManifestReader()
            var digest = IncrementalDigest(.sha256)
            var read: Contents?
            for line in text.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
                switch try reader.read(Array(line)) {
                case .header(let header): read = Contents(header: header)
                case .member(let member): read?.members.append(member)
                case .files(let files): read?.files += files
                case .signature(let signature):
                    let message = GroupManifest.signedMessage(sha256: digest.finish())
                    guard Ed25519Key.verifies(signature, over: message, by: key) else {
                        throw ManifestError.wrongSignature
                    }
                    digest = IncrementalDigest(.sha256)
                case .unknown: break
                }
                digest.update(Array(line) + [0x0A])
            }
            try reader.end()
            guard let read else { throw ManifestError.notAManifest }
            self = read
        }

        init(header: ManifestHeader) { self.header = header }
    }

    private let key: Ed25519Key

    init() throws { key = try Ed25519Key(seed: [UInt8](repeating: 7, count: 32)) }

    private func header() -> ManifestHeader {
        ManifestHeader(
            groupUUID: SharingGroupUUID("5D3A0B7C-0000-4000-8000-00000000000A")!, groupName: "Norway \"2026\"\n☀️",
            createdAt: WireDate(secondsSince1970: 1_700_000_000), masterVersion: MasterVersion(1 << 40),
            restoreMark: RestoreMark("mark 1"), restoredMasterVersion: MasterVersion(12),
            writtenAt: WireDate(secondsSince1970: 1_790_000_000), serverURL: "https://sync.example.com",
            ownerID: UserID(5), salt: Array(0..<16), publicKey: key.publicKey)
    }

    /// Files as an album has them: a picture and its discussion in a file group, over three years.
    private func album(_ count: Int, _ random: inout SeededGenerator) -> [ManifestFile] {
        let owner = ManifestFile.Owner(userID: UserID(5), storageType: .google)
        let devices = (0..<4).map { _ in DeviceUUID(UUID.random(&random).uuidString)! }
        var files: [ManifestFile] = []
        var time: Int64 = 1_700_000_000
        while files.count < count {
            time += Int64.random(in: 0..<2 * 94_608_000 / Int64(max(count / 2, 1)), using: &random)
            let group = FileGroupUUID(UUID.random(&random).uuidString)!
            let device = devices.randomElement(using: &random)!
            for isPicture in [true, false] {
                let size =
                    isPicture ? Int64.random(in: 1_000_000..<6_000_000, using: &random) : .random(in: 300..<3_000)
                files.append(
                    ManifestFile(
                        fileUUID: FileUUID(UUID.random(&random).uuidString)!, fileGroupUUID: group, owner: owner,
                        deviceUUID: device,
                        fileVersion: FileVersion(isPicture ? 0 : .random(in: 0..<4, using: &random)),
                        mimeType: isPicture ? .jpeg : .text, createdAt: WireDate(secondsSince1970: time),
                        updatedAt: WireDate(secondsSince1970: time), sizeBytes: size,
                        appMetaData: isPicture
                            ? AppMetaData(version: AppMetaDataVersion(0), contents: "{\"fileType\":\"image\"}") : nil,
                        state: .stored, checkSumBytes: (0..<8).map { _ in .random(in: 0...255, using: &random) }))
            }
        }
        return files
    }

    /// Files with every peculiarity.
    private func peculiarFiles(_ count: Int, seed: UInt64) -> [ManifestFile] {
        var random = SeededGenerator(seed: seed)
        let groups = (0..<5).map { _ in FileGroupUUID(random.text(maximumCharacters: 30) + "x")! }
        return (0..<count).map { _ in
            let uuids = [random.uuid(), random.uuid().lowercased(), random.uuid().uppercased()]
            return ManifestFile(
                fileUUID: FileUUID(uuids.randomElement(using: &random)!)!,
                fileGroupUUID: Bool.random(using: &random)
                    ? groups.randomElement(using: &random) : FileGroupUUID(random.uuid()),
                owner: .init(
                    userID: UserID(.random(in: 1...3, using: &random)),
                    storageType: CloudStorageType.allCases.randomElement(using: &random)!),
                deviceUUID: DeviceUUID(random.uuid())!,
                fileVersion: FileVersion(.random(in: 0...(.max), using: &random)),
                mimeType: [.jpeg, .text, MIMEType("unknown")!].randomElement(using: &random)!,
                createdAt: WireDate(secondsSince1970: .random(in: -1 << 40...1 << 40, using: &random)),
                updatedAt: WireDate(secondsSince1970: .random(in: -1 << 40...1 << 40, using: &random)),
                sizeBytes: [nil, 0, 7, Int64.max].randomElement(using: &random)!,
                appMetaData: Bool.random(using: &random)
                    ? AppMetaData(
                        version: AppMetaDataVersion(.random(in: 0...(.max), using: &random)),
                        contents: random.text(maximumCharacters: 20)) : nil,
                state: ManifestFile.State.allCases.randomElement(using: &random)!,
                checkSumBytes: [UInt8](
                    repeating: .random(in: 0...255, using: &random),
                    count: [0, 8, 16, 20, 32].randomElement(using: &random)!),
                storageHash: Bool.random(using: &random) ? "abcdefghij=" : nil,
                objectName: Bool.random(using: &random) ? "a~1.jpg" : nil)
        }
    }

    private func members() -> [ManifestMember] {
        [
            ManifestMember(
                userID: UserID(5), identity: [UInt8](repeating: 1, count: 16),
                account: .init(type: .webDAV, id: "https://cloud.example/ada"), name: "Ada \u{2028}",
                permission: .admin,
                isOwning: true, owningUserID: nil, joinedAt: WireDate(secondsSince1970: 1),
                userAppID: UserAppID("0e1f2a3b-4c5d-4e6f-8a7b-9c0d1e2f3a4b"), accountEpoch: AccountEpoch(2),
                otherGroups: .listed([SharingGroupUUID("aaaa-b")!, SharingGroupUUID("c")!])),
            ManifestMember(
                userID: UserID(6), identity: [UInt8](repeating: 2, count: 16), account: nil, name: "",
                permission: .read,
                isOwning: false, owningUserID: UserID(5), joinedAt: WireDate(secondsSince1970: 2),
                otherGroups: .sealed([1, 2, 3])),
            ManifestMember(
                userID: UserID(7), identity: [UInt8](repeating: 3, count: 16), account: nil, name: "Eve",
                permission: .write,
                isOwning: true, owningUserID: nil, joinedAt: WireDate(secondsSince1970: 3), otherGroups: .listed([])),
        ]
    }

    private func contents(_ files: [ManifestFile]) -> Contents {
        var contents = Contents(header: header())
        contents.members = members()
        contents.files = files
        return contents
    }

    @Test("Written manifests round-trip unchanged", arguments: [0, 1, 7, 4_096, 4_097, 9_000])
    func roundTrip(count: Int) throws {
        let written = contents(peculiarFiles(count, seed: UInt64(count)))
        let read = try Contents(written.text(key), key: key.publicKey)
        #expect(read.header == written.header)
        #expect(read.members == written.members)
        #expect(read.files.count == written.files.count)
        // Letter case is part of names.
        for (read, written) in zip(read.files, written.files) {
            #expect(read == written)
            #expect(read.cloudName == written.cloudName)
            #expect(read.fileGroupUUID?.rawValue.count == written.fileGroupUUID?.rawValue.count)
        }
    }

    @Test("A manifest without optional values is read")
    func optionalValues() throws {
        var header = header()
        (header.groupName, header.createdAt, header.restoreMark, header.restoredMasterVersion, header.serverURL) =
            (nil, nil, nil, nil, nil)
        let written = Contents(header: header)
        #expect(try Contents(written.text(key), key: key.publicKey) == written)
    }

    @Test("Unknown kinds of lines and unknown members are ignored")
    func unknown() throws {
        let written = contents(peculiarFiles(3, seed: 1))
        var lines = try written.text(key).split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }.dropLast()
        lines.insert(#"{"weather":{"rain":[1,"x",{"a":null}],"text":{"b":[[]]}}}"#, at: 1)
        lines.insert(#"{"poem":"Once"}"#, at: 2)
        for index in lines.indices where index != 1 && index != 2 {
            lines[index].insert(
                contentsOf: #""x1":[true,[1],{"y":2}],"x2":1.5,"x3":null,"#, at: lines[index].secondBrace)
        }
        var text = lines.flatMap { (line: String) -> [UInt8] in Array(line.utf8) + [0x0A] }
        let message = GroupManifest.signedMessage(sha256: IncrementalDigest.digest(of: text, .sha256))
        let signature = try key.signature(over: message)
        text += Array("{\"signature\":{\"ed25519\":\"\(signature.base64URL)\"}}\n".utf8)
        #expect(try Contents(text, key: key.publicKey) == written)
    }

    @Test("A truncated manifest is detected, wherever it ends")
    func truncation() throws {
        let text = try contents(peculiarFiles(20, seed: 2)).text(key)
        let ends = stride(from: 0, to: text.count - 1, by: 37).map { text.prefix($0) }
        let lineEnds = text.indices.dropLast().filter { text[$0] == 0x0A }.map { text.prefix($0 + 1) }
        for cut in ends + lineEnds {
            // As an editor would leave it.
            let error = #expect(throws: ManifestError.self) { try Contents(cut + [0x0A], key: key.publicKey) }
            #expect(cut.last != 0x0A || error == .truncated || error == .damaged(line: cut.count { $0 == 0x0A } + 1))
        }
    }

    @Test("Any edit is detected")
    func edits() throws {
        let text = try contents(peculiarFiles(20, seed: 3)).text(key)
        for position in stride(from: 0, to: text.count, by: 11) {
            for change in [UInt8(1), 0x20] {
                var edited = text
                edited[position] ^= change
                #expect(throws: ManifestError.self) { try Contents(edited, key: key.publicKey) }
            }
        }
        var lines = text.split(separator: 0x0A)
        lines.swapAt(1, 2)
        let swapped = lines.flatMap { (line: ArraySlice<UInt8>) -> [UInt8] in Array(line) + [0x0A] }
        #expect(throws: ManifestError.wrongSignature) { try Contents(swapped, key: key.publicKey) }
        let other = try Ed25519Key(seed: [UInt8](repeating: 8, count: 32))
        #expect(throws: ManifestError.wrongSignature) { try Contents(text, key: other.publicKey) }
        #expect(throws: ManifestError.damaged(line: lines.count + 1)) {
            try Contents(text + Array("{\"x\":{}}\n".utf8), key: key.publicKey)
        }
    }

    @Test(
        "Text that is not a manifest of this format is rejected with the reason",
        arguments: [
            ("", ManifestError.notAManifest), ("{\"member\":{}}", .notAManifest), ("x", .notAManifest),
            ("{\"manifest\":{\"format\":2}}", .newerFormat(2)), ("{\"manifest\":{\"format\":1}}", .damaged(line: 1)),
            ("{\"manifest\":{\"format\":0}}", .notAManifest),
        ])
    func foreign(line: String, expected: ManifestError) {
        #expect(throws: expected) { try Contents(Array((line + "\n").utf8), key: key.publicKey) }
    }

    @Test("Hostile blocks are reported as damaged, without other effects")
    func hostileBlocks() throws {
        let blocks = [
            #""count":0"#, #""count":99999999999"#, #""count":1"#,
            #""count":1,"fileUUIDs":"AAAAAAAAAAAAAAAAAAAAAA","owner":[0]"#,
            #""count":1,"fileUUIDs":"AAAAAAAAAAAAAAAAAAAAAA","fileGroup":[9223372036854775807]"#,
            #""count":1,"fileUUIDs":"AAAAAAAAAAAAAAAAAAAAAA","newFileGroups":"AAAAAAAAAAAAAAAAAAAAAA""#,
            #""count":1,"fileUUIDs":"AAAAAAAAAAAAAAAAAAAAAA","fileUUIDCases":[2]"#,
            #""count":1,"fileUUIDTexts":["../../x"],"fileUUIDCases":[2]"#,
        ]
        let owner =
            #","newOwners":[{"userID":1,"storage":"Google"}],"newDevices":["\#(UUID().uuidString)"],"newTypes":["a"]"#
        let good = #""count":1,"fileUUIDs":"AAAAAAAAAAAAAAAAAAAAAA""#
        let worse = [
            #","checkSumBytes":[-1]"#, #","checkSumBytes":[9223372036854775807]"#, #","checkSums":"AAAA""#,
            #","version":[-1]"#, #","state":[9]"#, #","size":[-2]"#, #","fileGroup":[2]"#,
            #","fileGroup":[-5]"#, #","owner":[-1]"#, #","owner":[1,1]"#,
            #","metaDataVersion":[1],"metaData":["a","b"]"#,
        ]
        for block in blocks + worse.map({ good + owner + $0 }) {
            var reader = ManifestReader()
            _ = try reader.read(Array(Contents(header: header()).text(key).prefix { $0 != 0x0A }))
            #expect(throws: ManifestError.damaged(line: 2), "\(block)") {
                try reader.read(Array("{\"files\":{\(block)}}".utf8))
            }
        }
        var reader = ManifestReader()
        _ = try reader.read(Array(Contents(header: header()).text(key).prefix { $0 != 0x0A }))
        #expect(throws: Never.self) { try reader.read(Array("{\"files\":{\(good + owner)}}".utf8)) }
    }

    @Test("10,000 files of an album take at most 400 kB, and processor time grows only with their number")
    func size() throws {
        var random = SeededGenerator(seed: 4)
        let files = album(40_000, &random)
        var small = contents(Array(files.prefix(10_000)))
        let compressed = try Self.compressed(small.text(key))
        #expect(compressed.count <= 400_000)
        print("manifest of 10,000 files: \(compressed.count) bytes")

        let ten = try Self.processorSeconds { _ = try Self.compressed(small.text(key)) }
        small.files = files
        let forty = try Self.processorSeconds { _ = try Self.compressed(small.text(key)) }
        #expect(forty < 10 * ten)
        print("CPU: \(ten) s for 10,000 files, \(forty) s for 40,000")
    }

    @Test("A manifest that exceeds a limit is refused before its rest is read")
    func limits() throws {
        let text = try contents(peculiarFiles(20, seed: 3)).text(key)
        let lines = text.split(separator: 0x0A).map { Array($0) }
        let limits: [WritableKeyPath<ManifestReader, Int>] = [\.maximumTextBytes, \.maximumFiles]
        for (limit, allowed) in zip(limits, [text.count, 20]) {
            for excess in [0, 1] {
                var reader = ManifestReader()
                reader[keyPath: limit] = allowed - excess
                let failure = lines.compactMap { line -> ManifestError? in
                    do throws(ManifestError) { _ = try reader.read(line) } catch { return error }
                    return nil
                }.first
                #expect(failure == (excess == 0 ? nil : .tooLarge), "\(limit)")
            }
        }
    }

    @Test("Compressed manifests are read")
    func compression() throws {
        let written = contents(peculiarFiles(5_000, seed: 5))
        let text = try written.text(key)
        var reader = try GzipLineReader(reading: Self.compressed(text))
        var lines: [UInt8] = []
        while let line = try reader.next() { lines += line + [0x0A] }
        #expect(lines == text)
        #expect(throws: GzipError.damaged) {
            var reader = try GzipLineReader(reading: Array(Self.compressed(text).dropLast(9)))
            while try reader.next() != nil {}
        }
    }

    @Test("Names of manifests")
    func names() {
        let uuid = "5d3a0b7c-0000-4000-8000-00000000000a"
        let name = ManifestName("\(uuid).1790000000.manifest.gz")
        #expect(name?.groupUUID.rawValue == uuid)
        #expect(name?.sequence == 1_790_000_000)
        #expect(name?.rawValue == "\(uuid).1790000000.manifest.gz")
        for other in ["\(uuid).manifest.gz", "\(uuid).-1.manifest.gz", "x.1.manifest.gz", "\(uuid).1.jpg"] {
            #expect(ManifestName(other) == nil)
        }
        // No file's object has such a name.
        #expect(CloudFileName("\(uuid).1790000000.manifest.gz") == nil)
    }

    private static func compressed(_ text: [UInt8]) -> [UInt8] {
        var stream = GzipStream()
        stream.append(text.span)
        stream.finish()
        return stream.output
    }

    /// The processor time of this thread.
    private static func processorSeconds(_ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        try body()
        return now() - start
    }
}

extension UUID {
    fileprivate static func random(_ random: inout SeededGenerator) -> UUID {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        return unsafe bytes.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

extension String {
    /// The position after the second opening brace.
    fileprivate var secondBrace: Index {
        let first = firstIndex(of: "{")!
        return index(after: self[index(after: first)...].firstIndex(of: "{")!)
    }
}
