/// Reads a manifest line by line, holding at most one block of files and the tables that later blocks refer to. Rejects
/// a manifest as soon as it exceeds a limit of ``GroupManifest``.
///
/// Kinds of lines and members that it does not know are ignored. The caller hashes all lines, each with its line feed,
/// before that of the signature, and checks the signature when ``Part/signature(_:)`` arrives: nothing read before that
/// can be trusted.
public struct ManifestReader: Sendable {
    /// The contents of a line.
    public enum Part: Sendable, Equatable {
        case header(ManifestHeader)
        case member(ManifestMember)
        case files([ManifestFile])
        /// The Ed25519 signature over ``GroupManifest/signedMessage(sha256:)``; the last line.
        case signature([UInt8])
        /// A line of an unknown kind.
        case unknown
    }

    /// The largest number of files that a block may have.
    private static let maximumFilesInBlock = 65_536

    /// Smaller in tests.
    package var maximumTextBytes = GroupManifest.maximumTextBytes
    package var maximumFiles = GroupManifest.maximumFiles

    private var lineNumber = 0
    private var textBytes = 0
    private var fileCount = 0
    private var isSigned = false
    private var owners: [ManifestFile.Owner] = []
    private var devices: [DeviceUUID] = []
    private var types: [MIMEType] = []
    private var fileGroups: [FileGroupUUID] = []

    /// Starts at the first line.
    public init() {}

    /// Reads the next line, without its line feed.
    public mutating func read(_ line: [UInt8]) throws(ManifestError) -> Part {
        lineNumber += 1
        guard lineNumber == 1 || !isSigned else { throw .damaged(line: lineNumber) }
        textBytes += line.count + 1
        guard textBytes <= maximumTextBytes else { throw .tooLarge }
        var parsed = ParsedLine()
        do { try parsed.parse(line) } catch { throw lineNumber == 1 ? .notAManifest : .damaged(line: lineNumber) }
        if lineNumber == 1 {
            guard parsed.kind == "manifest", let format = parsed.number("format") else { throw .notAManifest }
            guard format == GroupManifest.format else {
                throw format > GroupManifest.format ? .newerFormat(format) : .notAManifest
            }
        }
        switch parsed.kind {
        case "manifest" where lineNumber == 1:
            guard let header = ManifestHeader(parsed) else { throw .damaged(line: lineNumber) }
            return .header(header)
        case "member":
            guard let member = ManifestMember(parsed) else { throw .damaged(line: lineNumber) }
            return .member(member)
        case "files":
            guard let files = files(parsed) else { throw .damaged(line: lineNumber) }
            fileCount += files.count
            guard fileCount <= maximumFiles else { throw .tooLarge }
            return .files(files)
        case "signature":
            guard let signature = parsed.bytes("ed25519"), signature.count == 64 else {
                throw .damaged(line: lineNumber)
            }
            isSigned = true
            return .signature(signature)
        case "manifest": throw .damaged(line: lineNumber)
        default: return .unknown
        }
    }

    /// Call after the last line.
    public func end() throws(ManifestError) {
        guard isSigned else { throw lineNumber == 0 ? .notAManifest : .truncated }
    }

    /// The files of a block; nil if it is damaged.
    private mutating func files(_ line: ParsedLine) -> [ManifestFile]? {
        guard let count = line.number("count"), (1...Self.maximumFilesInBlock).contains(count), addEntries(line),
            let uuids = line.uuids("fileUUIDs", "fileUUIDCases", "fileUUIDTexts"), uuids.count == count,
            let group = line.column("fileGroup", count), let owner = line.column("owner", count),
            let device = line.column("device", count), let type = line.column("type", count),
            let version = line.column("version", count), let created = line.column("created", count),
            let updated = line.column("updated", count), let size = line.column("size", count),
            let state = line.column("state", count), let sumBytes = line.column("checkSumBytes", count),
            let sums = line.bytes("checkSums"), let hashes = line.texts("storageHash", count),
            let names = line.texts("objectName", count), let metaVersion = line.column("metaDataVersion", count),
            let meta = line.texts("metaData", metaVersion.count { $0 > 0 })
        else { return nil }
        var files: [ManifestFile] = []
        files.reserveCapacity(count)
        var time: Int64 = 0
        var sumPosition = 0
        var metaPosition = 0
        // Groups that this block introduces are numbered as it refers to them.
        var introduced = fileGroups.count - line.newFileGroups
        for index in 0..<count {
            var fileGroup: FileGroupUUID?
            switch group[index] {
            case 0: break
            case 1:
                guard introduced < fileGroups.count else { return nil }
                fileGroup = fileGroups[introduced]
                introduced += 1
            case let back:
                guard back > 0, back - 1 <= introduced else { return nil }
                fileGroup = fileGroups[introduced - Int(back - 1)]
            }
            guard let owner = owners.entry(owner[index]), let device = devices.entry(device[index]),
                let type = types.entry(type[index]), let fileUUID = FileUUID(uuids[index]),
                let fileVersion = Int32(exactly: version[index]), fileVersion >= 0,
                let state = ManifestFile.State(rawValue: Int(clamping: state[index])), size[index] >= -1,
                (0...64).contains(sumBytes[index]), sumPosition + Int(sumBytes[index]) <= sums.count
            else { return nil }
            let sumEnd = sumPosition + Int(sumBytes[index])
            // Wrapping, because dates limit themselves to their range.
            time &+= created[index]
            var metaData: AppMetaData?
            if metaVersion[index] > 0 {
                guard let version = Int32(exactly: metaVersion[index] - 1) else { return nil }
                metaData = AppMetaData(version: AppMetaDataVersion(version), contents: meta[metaPosition])
                metaPosition += 1
            }
            files.append(
                ManifestFile(
                    fileUUID: fileUUID, fileGroupUUID: fileGroup, owner: owner, deviceUUID: device,
                    fileVersion: FileVersion(fileVersion), mimeType: type,
                    createdAt: WireDate(secondsSince1970: time),
                    updatedAt: WireDate(secondsSince1970: time &+ updated[index]),
                    sizeBytes: size[index] < 0 ? nil : size[index], appMetaData: metaData, state: state,
                    checkSumBytes: Array(sums[sumPosition..<sumEnd]),
                    storageHash: hashes[index].isEmpty ? nil : hashes[index],
                    objectName: names[index].isEmpty ? nil : names[index]))
            sumPosition = sumEnd
        }
        return sumPosition == sums.count && introduced == fileGroups.count ? files : nil
    }

    /// Adds a block's new owners, devices, types and file groups to those of earlier blocks.
    private mutating func addEntries(_ line: ParsedLine) -> Bool {
        for owner in line.owners {
            guard let storage = CloudStorageType(rawValue: owner.storage) else { return false }
            owners.append(ManifestFile.Owner(userID: UserID(owner.userID), storageType: storage))
        }
        for text in line.texts["newDevices"] ?? [] {
            guard let device = DeviceUUID(text) else { return false }
            devices.append(device)
        }
        for text in line.texts["newTypes"] ?? [] {
            guard let type = MIMEType(text) else { return false }
            types.append(type)
        }
        guard let groups = line.uuids("newFileGroups", "newFileGroupCases", "newFileGroupTexts") else { return false }
        for text in groups {
            guard let group = FileGroupUUID(text) else { return false }
            fileGroups.append(group)
        }
        return [owners.count, devices.count, types.count, fileGroups.count].allSatisfy {
            $0 <= GroupManifest.maximumFiles
        }
    }
}

extension Array {
    /// The element at `index`, or nil if the index is out of bounds.
    fileprivate func entry(_ index: Int64) -> Element? {
        index >= 0 && index < Int64(count) ? self[Int(index)] : nil
    }
}

/// A line, with the values of its members by their types.
private struct ParsedLine {
    var kind = ""
    private(set) var numbers: [String: Int64] = [:]
    private(set) var flags: [String: Bool] = [:]
    private(set) var strings: [String: String] = [:]
    private(set) var columns: [String: [Int64]] = [:]
    private(set) var texts: [String: [String]] = [:]
    /// The members whose value is an empty array.
    private(set) var emptyArrays: Set<String> = []
    private(set) var owners: [(userID: Int64, storage: String)] = []

    /// Parses an object with one member, which is an object; what has an unexpected type is skipped.
    mutating func parse(_ line: [UInt8]) throws(JSONParser.SyntaxError) {
        var parser = JSONParser(bytes: line)
        var count = 0
        try parser.object { (name, parser) throws(JSONParser.SyntaxError) in
            count += 1
            guard count == 1, parser.peek() == UInt8(ascii: "{") else { return try parser.skipValue() }
            kind = name
            try parser.object { (name, parser) throws(JSONParser.SyntaxError) in try member(name, &parser) }
        }
        try parser.expectEnd()
        guard count == 1 else { throw JSONParser.SyntaxError() }
    }

    private mutating func member(_ name: String, _ parser: inout JSONParser) throws(JSONParser.SyntaxError) {
        switch parser.peek() {
        case UInt8(ascii: "\""): strings[name] = try parser.string()
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            flags[name] = parser.peek() == UInt8(ascii: "t")
            try parser.skipValue()
        case UInt8(ascii: "["): try array(name, &parser)
        case UInt8(ascii: "{"), UInt8(ascii: "n"): try parser.skipValue()
        default: numbers[name] = Self.integer(try parser.number())
        }
    }

    private mutating func array(_ name: String, _ parser: inout JSONParser) throws(JSONParser.SyntaxError) {
        try parser.expect("[")
        if parser.accept("]") {
            emptyArrays.insert(name)
            return
        }
        repeat {
            switch parser.peek() {
            case UInt8(ascii: "\""): texts[name, default: []].append(try parser.string())
            case UInt8(ascii: "{") where name == "newOwners":
                var owner = ParsedLine()
                try parser.object { (name, parser) throws(JSONParser.SyntaxError) in try owner.member(name, &parser) }
                owners.append((owner.numbers["userID"] ?? -1, owner.strings["storage"] ?? ""))
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
                try parser.skipValue()
            default:
                guard let number = Self.integer(try parser.number()) else { throw JSONParser.SyntaxError() }
                columns[name, default: []].append(number)
            }
        } while parser.accept(",")
        try parser.expect("]")
    }

    private static func integer(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text.first == UInt8(ascii: "-") else { return StrictDecimal.parse(text, as: Int64.self) }
        return StrictDecimal.parse(text.dropFirst(), as: Int64.self).map { -$0 }
    }

    func number(_ name: String) -> Int? { numbers[name].map { Int(clamping: $0) } }

    /// The column's `count` integers. Zeros if the line does not have the column; nil if their number differs.
    func column(_ name: String, _ count: Int) -> [Int64]? {
        guard let column = columns[name] else { return [Int64](repeating: 0, count: count) }
        return column.count == count ? column : nil
    }

    /// The column's `count` strings. Empty strings if the line does not have the column; nil if their number differs.
    func texts(_ name: String, _ count: Int) -> [String]? {
        guard let texts = texts[name] else { return [String](repeating: "", count: count) }
        return texts.count == count ? texts : nil
    }

    func bytes(_ name: String) -> [UInt8]? { Base64URL.bytes(of: strings[name] ?? "") }

    func date(_ name: String) -> WireDate? { strings[name].flatMap { WireDate($0) } }

    func user(_ name: String) -> UserID? { numbers[name].map { UserID($0) } }

    func uuids(_ name: String, _ forms: String, _ others: String) -> [String]? {
        guard let bytes = bytes(name), bytes.count % 16 == 0 else { return nil }
        let texts = texts[others] ?? []
        let count = bytes.count / 16 + texts.count
        guard let forms = column(forms, count) else { return nil }
        var uuids: [String] = []
        uuids.reserveCapacity(count)
        var (position, text) = (0, 0)
        for form in forms {
            switch UUIDColumn.Form(rawValue: Int(clamping: form)) {
            case nil: return nil
            case .other:
                guard text < texts.count else { return nil }
                uuids.append(texts[text])
                text += 1
            case let form:
                guard position < bytes.count else { return nil }
                uuids.append(UUIDColumn.text(bytes[position..<position + 16], isUppercase: form == .uppercase))
                position += 16
            }
        }
        return uuids
    }

    /// The number of file groups that the line introduces.
    var newFileGroups: Int {
        (bytes("newFileGroups")?.count ?? 0) / 16 + (texts["newFileGroupTexts"]?.count ?? 0)
    }
}

extension ManifestHeader {
    fileprivate init?(_ line: ParsedLine) {
        guard let groupUUID = line.strings["sharingGroupUUID"].flatMap({ SharingGroupUUID($0) }),
            let masterVersion = line.numbers["masterVersion"], let writtenAt = line.date("written"),
            let ownerID = line.user("owner"), let salt = line.bytes("salt"), let publicKey = line.bytes("key"),
            publicKey.count == 32
        else { return nil }
        self.init(
            groupUUID: groupUUID, groupName: line.strings["sharingGroupName"], createdAt: line.date("created"),
            masterVersion: MasterVersion(masterVersion),
            restoreMark: line.strings["restoreMark"].flatMap { RestoreMark($0) },
            restoredMasterVersion: line.numbers["restoredMasterVersion"].map { MasterVersion($0) },
            writtenAt: writtenAt, serverURL: line.strings["server"], ownerID: ownerID, salt: salt,
            publicKey: publicKey)
    }
}

extension ManifestMember {
    fileprivate init?(_ line: ParsedLine) {
        guard let userID = line.user("userID"), let identity = line.bytes("identity"),
            identity.count == GroupManifest.identityBytes, let name = line.strings["name"],
            let permission = line.strings["permission"].flatMap({ Permission(rawValue: $0) }),
            let isOwning = line.flags["isOwning"], let joinedAt = line.date("joined")
        else { return nil }
        var account: Account?
        if let type = line.strings["accountType"].flatMap({ AccountType(rawValue: $0) }),
            let id = line.strings["accountID"]
        {
            account = Account(type: type, id: id)
        }
        let userAppID = line.strings["userAppID"].flatMap { UserAppID($0) }
        self.init(
            userID: userID, identity: identity, account: account, name: name, permission: permission,
            isOwning: isOwning, owningUserID: line.user("owningUserID"), joinedAt: joinedAt, userAppID: userAppID,
            accountEpoch: userAppID.map { _ in AccountEpoch(line.numbers["accountEpoch"] ?? 0) },
            otherGroups: OtherGroups(line))
    }
}

extension ManifestMember.OtherGroups {
    /// nil if the line does not contain them, or contains them in a form that this reader does not know.
    fileprivate init?(_ line: ParsedLine) {
        let name = "otherGroups"
        if let sealed = line.strings[name] {
            guard let bytes = Base64URL.bytes(of: sealed) else { return nil }
            self = .sealed(bytes)
        } else if let texts = line.texts[name] ?? (line.emptyArrays.contains(name) ? [] : nil) {
            let groups = texts.compactMap { SharingGroupUUID($0) }
            guard groups.count == texts.count else { return nil }
            self = .listed(groups)
        } else {
            return nil
        }
    }
}
