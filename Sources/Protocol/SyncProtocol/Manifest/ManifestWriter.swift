/// Writes the lines of a manifest, holding at most one block of files.
///
/// The caller takes the text from ``output`` whenever it wants to, hashes it, compresses it, and passes the signature
/// over it to ``finish(signature:)``.
public struct ManifestWriter: Sendable {
    /// The text that has not been taken yet, in whole lines.
    public var output: [UInt8] = []

    private var block: [ManifestFile] = []
    private var owners: [ManifestFile.Owner: Int] = [:]
    private var devices: [String: Int] = [:]
    private var types: [MIMEType: Int] = [:]
    private var fileGroups: [FileGroupUUID: Int] = [:]

    /// Starts a manifest.
    public init(_ header: ManifestHeader) {
        line("manifest") { writer in
            writer.field("format", GroupManifest.format)
            writer.field("sharingGroupUUID", header.groupUUID)
            writer.field("sharingGroupName", text: header.groupName)
            writer.field("created", header.createdAt)
            writer.field("masterVersion", header.masterVersion)
            writer.field("restoreMark", text: header.restoreMark?.rawValue)
            writer.field("restoredMasterVersion", header.restoredMasterVersion)
            writer.field("written", header.writtenAt)
            writer.field("server", text: header.serverURL)
            writer.field("owner", header.ownerID)
            writer.field("salt", text: Base64URL.text(of: header.salt))
            writer.field("key", text: Base64URL.text(of: header.publicKey))
        }
    }

    /// Adds a member.
    public mutating func add(_ member: ManifestMember) {
        line("member") { writer in
            writer.field("userID", member.userID)
            writer.field("identity", text: Base64URL.text(of: member.identity))
            writer.field("accountType", member.account?.type)
            writer.field("accountID", text: member.account?.id)
            writer.field("name", text: member.name)
            writer.field("permission", member.permission)
            writer.field("isOwning", member.isOwning)
            writer.field("owningUserID", member.owningUserID)
            writer.field("joined", member.joinedAt)
            writer.field("userAppID", text: member.userAppID?.rawValue)
            writer.field("accountEpoch", member.accountEpoch)
            switch member.otherGroups {
            case nil: break
            case .listed(let groups):
                writer.key("otherGroups")
                writer.array { writer in for group in groups { writer.value(text: group.rawValue) } }
            case .sealed(let bytes): writer.field("otherGroups", text: Base64URL.text(of: bytes))
            }
        }
    }

    /// Adds a file. A manifest is smallest if files that were created together follow each other.
    public mutating func add(_ file: ManifestFile) {
        block.append(file)
        if block.count == GroupManifest.filesInBlock { writeBlock() }
    }

    /// Completes the last block: everything that is signed has been written.
    public mutating func endFiles() { writeBlock() }

    /// Adds the signature of ``GroupManifest/signedMessage(sha256:)`` over everything written so far.
    public mutating func finish(signature: [UInt8]) {
        line("signature") { $0.field("ed25519", text: Base64URL.text(of: signature)) }
    }

    private mutating func line(_ kind: JSONKey, _ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(kind)
            writer.object(members)
        }
        output += writer.bytes
        output.append(UInt8(ascii: "\n"))
    }

    // MARK: Blocks

    /// Writes the files in columns, since random bytes, numbers and repeated values compress best among their like.
    private mutating func writeBlock() {
        guard !block.isEmpty else { return }
        let files = block
        block.removeAll(keepingCapacity: true)

        let newOwners = Self.added(files.map(\.owner), to: &owners)
        let newDevices = Self.added(files.map(\.deviceUUID.rawValue), to: &devices)
        let newTypes = Self.added(files.map(\.mimeType), to: &types)
        var newGroups = UUIDColumn()
        let groups: [Int64] = files.map { file in
            guard let group = file.fileGroupUUID else { return 0 }
            // A group that differs in letter case only is the same.
            if let number = fileGroups[group] { return Int64(fileGroups.count - number + 1) }
            fileGroups[group] = fileGroups.count
            newGroups.append(group.rawValue)
            return 1
        }
        var uuids = UUIDColumn()
        for file in files { uuids.append(file.fileUUID.rawValue) }
        var previous: Int64 = 0
        let created = files.map { file in
            defer { previous = file.createdAt.secondsSince1970 }
            return file.createdAt.secondsSince1970 - previous
        }

        let (owners, devices, types) = (owners, devices, types)
        line("files") { writer in
            writer.field("count", files.count)
            writer.field("newOwners", objects: newOwners) { owner, writer in
                writer.field("userID", owner.userID)
                writer.field("storage", owner.storageType)
            }
            writer.field("newDevices", texts: newDevices)
            writer.field("newTypes", texts: newTypes.map(\.rawValue))
            writer.field("newFileGroups", newGroups, "newFileGroupCases", "newFileGroupTexts")
            writer.field("fileUUIDs", uuids, "fileUUIDCases", "fileUUIDTexts")
            writer.field("fileGroup", column: groups)
            writer.field("owner", column: files.map { Int64(owners[$0.owner] ?? 0) })
            writer.field("device", column: files.map { Int64(devices[$0.deviceUUID.rawValue] ?? 0) })
            writer.field("type", column: files.map { Int64(types[$0.mimeType] ?? 0) })
            writer.field("version", column: files.map { Int64($0.fileVersion.rawValue) })
            writer.field("created", column: created)
            writer.field(
                "updated", column: files.map { $0.updatedAt.secondsSince1970 - $0.createdAt.secondsSince1970 })
            writer.field("size", column: files.map { $0.sizeBytes ?? -1 })
            writer.field("state", column: files.map { Int64($0.state.rawValue) })
            writer.field("checkSumBytes", column: files.map { Int64($0.checkSumBytes.count) })
            writer.field("checkSums", text: Base64URL.text(of: files.flatMap(\.checkSumBytes)))
            writer.field("storageHash", column: files.map { $0.storageHash ?? "" })
            writer.field("objectName", column: files.map { $0.objectName ?? "" })
            writer.field("metaDataVersion", column: files.map { Int64($0.appMetaData?.version.rawValue ?? -1) + 1 })
            writer.field("metaData", texts: files.compactMap(\.appMetaData?.contents))
        }
    }

    /// Numbers the values that have no number yet, and returns these in the order of their numbers.
    private static func added<Value: Hashable>(_ values: [Value], to numbers: inout [Value: Int]) -> [Value] {
        var new: [Value] = []
        for value in values where numbers[value] == nil {
            numbers[value] = numbers.count
            new.append(value)
        }
        return new
    }
}

/// UUIDs as 16 bytes each. Their forms state what the bytes cannot: the letter case, or text that is not a UUID.
struct UUIDColumn {
    enum Form: Int, CaseIterable {
        case uppercase = 0
        case lowercase = 1
        /// Mixed letter case, or no UUID: the text itself.
        case other = 2
    }

    var bytes: [UInt8] = []
    var forms: [Form] = []
    var texts: [String] = []

    mutating func append(_ text: String) {
        let digits = Array(text.utf8).filter { $0 != UInt8(ascii: "-") }
        let values = digits.compactMap(HexadecimalDigit.value(of:))
        var form = Form.other
        if UUIDText(text) != nil {
            if digits.allSatisfy({ $0 < 0x61 }) {
                form = .uppercase
            } else if digits.allSatisfy({ $0 < 0x41 || $0 > 0x5A }) {
                form = .lowercase
            }
        }
        forms.append(form)
        switch form {
        case .uppercase, .lowercase:
            for index in stride(from: 0, to: 32, by: 2) { bytes.append(values[index] << 4 | values[index + 1]) }
        case .other: texts.append(text)
        }
    }

    /// The text of the UUID with these 16 bytes.
    static func text(_ bytes: ArraySlice<UInt8>, isUppercase: Bool) -> String {
        let digit = isUppercase ? HexadecimalDigit.uppercase : HexadecimalDigit.lowercase
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digit(byte >> 4), digit(byte)]
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension JSONWriter {
    /// Writes a member whose value is an array of integers, unless all of them are 0.
    fileprivate mutating func field(_ name: JSONKey, column: [Int64]) {
        guard column.contains(where: { $0 != 0 }) else { return }
        key(name)
        array { writer in for number in column { writer.value(number) } }
    }

    /// Writes a member whose value is an array of strings, unless all of them are empty.
    fileprivate mutating func field(_ name: JSONKey, column: [String]) {
        guard column.contains(where: { !$0.isEmpty }) else { return }
        field(name, texts: column)
    }

    /// Writes a member whose value is an array of strings, unless it has none.
    fileprivate mutating func field(_ name: JSONKey, texts: [String]) {
        guard !texts.isEmpty else { return }
        key(name)
        array { writer in for text in texts { writer.value(text: text) } }
    }

    fileprivate mutating func field(_ name: JSONKey, _ column: UUIDColumn, _ forms: JSONKey, _ texts: JSONKey) {
        guard !column.forms.isEmpty else { return }
        field(name, text: Base64URL.text(of: column.bytes))
        field(forms, column: column.forms.map { Int64($0.rawValue) })
        field(texts, texts: column.texts)
    }
}

/// Base64url without padding (RFC 4648, section 5).
package enum Base64URL {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    package static func text(of bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(digits[Int(bits >> bitCount & 63)])
            }
        }
        if bitCount > 0 { text.append(digits[Int(bits << (6 - bitCount) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes text that ``text(of:)`` has returned; returns nil for any other text.
    package static func bytes(of text: String) -> [UInt8]? {
        guard text.utf8.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for digit in text.utf8 {
            guard let value = values[Int(digit)] else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        return bits & (1 << bitCount - 1) == 0 ? bytes : nil
    }
}
