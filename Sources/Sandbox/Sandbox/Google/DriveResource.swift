import FoundationEssentials
import OpenSSLCrypto

/// A Drive user's view of a file: the resource that the API returns.
struct DriveResource {
    let server: SandboxServer
    let account: Account

    /// Members that a client may request: those of the API's `File` that apply without other people and sharing.
    /// Unknown requested members are omitted, as Drive omits members that a file does not have.
    static let fileMembers: Set<String> = [
        "kind", "id", "name", "mimeType", "description", "starred", "trashed", "explicitlyTrashed", "parents",
        "properties", "appProperties", "spaces", "version", "webContentLink", "webViewLink", "iconLink",
        "hasThumbnail", "thumbnailLink", "viewedByMe", "viewedByMeTime", "createdTime", "modifiedTime",
        "modifiedByMeTime", "modifiedByMe", "sharedWithMeTime", "sharingUser", "owners", "driveId", "teamDriveId",
        "lastModifyingUser", "shared", "ownedByMe", "capabilities", "permissions", "permissionIds",
        "originalFilename", "fullFileExtension", "fileExtension", "md5Checksum", "sha1Checksum", "sha256Checksum",
        "size", "quotaBytesUsed", "headRevisionId", "contentHints", "imageMediaMetadata", "videoMediaMetadata",
        "isAppAuthorized", "copyRequiresWriterPermission", "writersCanShare", "exportLinks", "shortcutDetails",
        "contentRestrictions", "labelInfo", "resourceKey", "linkShareMetadata", "trashedTime", "trashingUser",
        "folderColorRgb", "thumbnailVersion", "hasAugmentedPermissions", "inheritedPermissionsDisabled",
        "downloadRestrictions",
    ]
    /// The default members if the request has no `fields`.
    static let defaultMask = FieldMask(members: ["kind", "id", "name", "mimeType"])

    /// The mask for one file, as requested.
    static func mask(_ request: SandboxRequest) throws(DriveError) -> FieldMask {
        guard let fields = FieldMask.text(request) else { return defaultMask }
        let mask = try FieldMask(fields)
        try mask.requireKnown(fileMembers)
        return mask
    }

    /// The requested members of a file.
    /// - Parameter isWhole: whether to include SHA-1 and SHA-256 even for large files; computing them on request takes
    ///   a second for some gibibytes.
    func json(_ file: DriveFile, in drive: Drive, mask: FieldMask, isWhole: Bool = false) -> JSONValue {
        var json: JSONObject = [
            "kind": "drive#file", "id": .string(file.id), "name": .string(file.name),
            "mimeType": .string(file.mimeType), "starred": .bool(file.isStarred),
            "trashed": .bool(drive.isTrashed(file)), "explicitlyTrashed": .bool(file.isTrashed),
            "spaces": ["drive"], "version": .string(String(file.version)), "createdTime": file.createdAt.json,
            "modifiedTime": file.modifiedAt.json, "modifiedByMeTime": file.modifiedAt.json, "modifiedByMe": true,
            "viewedByMe": true, "viewedByMeTime": file.modifiedAt.json, "shared": .bool(file.sharedDrive != nil),
            "ownedByMe": .bool(file.sharedDrive == nil),
            "isAppAuthorized": true, "writersCanShare": true, "copyRequiresWriterPermission": false,
            "hasThumbnail": false,
            "webViewLink": .string("https://drive.google.com/file/d/\(file.id)/view?usp=drivesdk"),
            "quotaBytesUsed": .string(String(file.size ?? 0)),
        ]
        json["parents"] = file.parent.map { [.string($0)] }
        json["description"] = .string(file.description)
        if !file.properties.isEmpty { json["properties"] = DriveFile.json(file.properties) }
        if !file.appProperties.isEmpty { json["appProperties"] = DriveFile.json(file.appProperties) }
        let user: JSONValue = [
            "kind": "drive#user", "displayName": .string(account.name), "me": true,
            "permissionId": .string(account.id), "emailAddress": .string(account.email),
        ]
        if file.sharedDrive == nil { json["owners"] = [user] }
        json["driveId"] = .string(file.sharedDrive)
        json["lastModifyingUser"] = user
        json["capabilities"] = [
            "canEdit": true, "canDelete": true, "canTrash": true, "canDownload": true, "canRename": true,
            "canAddChildren": .bool(file.isFolder), "canListChildren": .bool(file.isFolder),
        ]
        if let size = file.size {
            let fileExtension = file.name.contains(".") ? file.name.split(separator: ".").last.map(String.init) : nil
            json["originalFilename"] = .string(file.name)
            json["fileExtension"] = .string(fileExtension ?? "")
            json["fullFileExtension"] = .string(fileExtension ?? "")
            json["size"] = .string(String(size))
            json["headRevisionId"] = .string(file.headRevisionID)
            json["webContentLink"] = .string("https://drive.google.com/uc?id=\(file.id)&export=download")
            json["md5Checksum"] = .string(reportedMD5(file.md5))
            if isWhole || size <= StoredContent.largestWithAllChecksums, !mask.isAll {
                let path = server.directory.contentPath(account.id, file.id)
                for (name, algorithm) in [("sha1Checksum", DigestAlgorithm.sha1), ("sha256Checksum", .sha256)]
                where mask.wants(name) {
                    let sum = try? StoredContent.checksum(algorithm, of: path, revision: file.headRevisionID)
                    json[name] = sum.map { JSONValue.string($0) }
                }
            }
        }
        return mask.project(.object(json))
    }

    private func reportedMD5(_ md5: String?) -> String? {
        guard server.breaks.contains(.wrongMD5), let md5 else { return md5 }
        return (md5.hasPrefix("0") ? "1" : "0") + md5.dropFirst()
    }
}

/// The `fields` parameter: the members of a resource that the client requests.
///
/// The grammar is that of Google's "Work with partial resources": `a,b/c,d(e,f)`, with `*` for all members of a level.
struct FieldMask: Equatable {
    /// Whether everything below is requested.
    private(set) var isAll: Bool
    /// The requested members below each named member.
    private(set) var children: [String: FieldMask]

    /// Everything.
    static let all = FieldMask(isAll: true, children: [:])

    private init(isAll: Bool, children: [String: FieldMask]) {
        self.isAll = isAll
        self.children = children
    }

    /// The selection in a request; `nil` if the parameter is absent or empty.
    static func text(_ request: SandboxRequest) -> String? {
        request.query["fields"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Parses `text`.
    /// - Throws: ``DriveError`` 400 `invalidParameter`, like Drive for an invalid selection.
    init(_ text: String) throws(DriveError) {
        var parser = Parser(text: Array(text.utf8), source: text)
        self = try parser.list(isNested: false)
        guard parser.position == parser.text.count else { throw parser.failure }
    }

    /// Only these members.
    init(members: [String]) {
        self.init(isAll: false, children: Dictionary(members.map { ($0, .all) }) { $1 })
    }

    /// Whether the mask includes the member at that path.
    func wants(_ path: String...) -> Bool {
        var mask = self
        for name in path {
            if mask.isAll { return true }
            guard let child = mask.children[name] else { return false }
            mask = child
        }
        return true
    }

    /// The mask of one member; `nil` if it is not included.
    func child(_ name: String) -> FieldMask? { isAll ? .all : children[name] }

    /// The requested part of a value; arrays are projected element by element.
    func project(_ value: JSONValue) -> JSONValue {
        if isAll { return value }
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for member in object.members {
                if let child = children[member.name] { result[member.name] = child.project(member.value) }
            }
            return .object(result)
        case .array(let elements): return .array(elements.map(project))
        default: return value
        }
    }

    /// - Throws: ``DriveError`` if the mask names a member that is not among `names`.
    func requireKnown(_ names: Set<String>) throws(DriveError) {
        for name in children.keys.sorted() where !names.contains(name) { throw Self.failure(name) }
    }

    private mutating func add(_ name: String, _ mask: FieldMask) {
        if name == "*" {
            isAll = true
        } else if var present = children[name] {
            present.isAll = present.isAll || mask.isAll
            for (name, child) in mask.children { present.add(name, child) }
            children[name] = present
        } else {
            children[name] = mask
        }
    }

    private static func failure(_ text: String) -> DriveError {
        DriveError(400, "invalidParameter", "Invalid field selection \(text)", location: "fields")
    }

    private struct Parser {
        let text: [UInt8]
        let source: String
        var position = 0

        init(text: [UInt8], source: String) {
            self.text = text
            self.source = source
        }

        var failure: DriveError { FieldMask.failure(source) }
        var current: UInt8? { position < text.count ? text[position] : nil }

        mutating func list(isNested: Bool) throws(DriveError) -> FieldMask {
            var mask = FieldMask(isAll: false, children: [:])
            while true {
                let (name, child) = try item()
                mask.add(name, child)
                guard current == UInt8(ascii: ",") else { return mask }
                position += 1
            }
        }

        mutating func item() throws(DriveError) -> (String, FieldMask) {
            while current == 0x20 { position += 1 }
            let start = position
            while let byte = current, byte == UInt8(ascii: "*") || Self.isNameByte(byte) { position += 1 }
            let name = String(decoding: text[start..<position], as: UTF8.self)
            guard !name.isEmpty, name == "*" || !name.contains("*") else { throw failure }
            while current == 0x20 { position += 1 }
            switch current {
            case UInt8(ascii: "/"):
                position += 1
                let (childName, child) = try item()
                var mask = FieldMask(isAll: false, children: [:])
                mask.add(childName, child)
                return (name, mask)
            case UInt8(ascii: "("):
                position += 1
                let mask = try list(isNested: true)
                guard current == UInt8(ascii: ")") else { throw failure }
                position += 1
                return (name, mask)
            default: return (name, .all)
            }
        }

        static func isNameByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}
