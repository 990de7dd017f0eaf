internal import FoundationEssentials
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
    /// - Parameter isWhole: whether to include SHA-1 and SHA-256 also for large files; computing them on request takes
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
        json["description"] = .string(file.details)
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
