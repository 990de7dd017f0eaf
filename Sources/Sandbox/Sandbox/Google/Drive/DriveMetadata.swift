internal import FoundationEssentials

/// The metadata that a client sends to create or change a file.
struct DriveMetadata: Sendable {
    var id: String?
    var name: String?
    var mimeType: String?
    var parents: [String]?
    var details: String?
    var isStarred: Bool?
    var isTrashed: Bool?
    var createdTime: Date?
    var modifiedTime: Date?
    /// Changed properties; `nil` removes a property.
    var properties: [String: String?] = [:]
    var appProperties: [String: String?] = [:]
    /// As received, to be stored with an upload.
    let json: JSONValue

    private static let readOnly: Set<String> = [
        "kind", "size", "md5Checksum", "sha1Checksum", "sha256Checksum", "headRevisionId", "ownedByMe", "version",
        "webContentLink", "webViewLink", "explicitlyTrashed", "trashedTime", "owners", "quotaBytesUsed",
    ]
    /// The maximum size of a property's key and value together, in bytes.
    private static let largestPropertyBytes = 124

    /// Reads the metadata from the request's JSON; an absent body means no metadata.
    /// - Throws: ``DriveError`` for invalid JSON, and for members that have a wrong type or are read-only.
    init(_ bytes: [UInt8]) throws(DriveError) {
        let value = bytes.isEmpty ? [:] : try? JSONValue(parsing: bytes)
        guard let value, let object = value.object else { throw DriveError(400, "parseError", "Parse Error") }
        json = value
        for member in object.members {
            let name = member.name
            let value = member.value
            switch name {
            case "id": id = try Self.text(name, value)
            case "name": self.name = try Self.text(name, value)
            case "mimeType": mimeType = try Self.text(name, value)
            case "description": details = try Self.text(name, value)
            case "starred": isStarred = try Self.flag(name, value)
            case "trashed": isTrashed = try Self.flag(name, value)
            case "createdTime": createdTime = try Self.time(name, value)
            case "modifiedTime": modifiedTime = try Self.time(name, value)
            case "properties": properties = try Self.properties(name, value)
            case "appProperties": appProperties = try Self.properties(name, value)
            case "parents":
                guard let ids = value.array, ids.allSatisfy({ $0.string != nil }) else { throw .invalid(name) }
                parents = ids.compactMap(\.string)
            case _ where Self.readOnly.contains(name):
                throw DriveError(
                    403, "fieldNotWritable", "The resource body includes fields which are not directly writable.")
            // The API ignores unknown members.
            default: break
            }
        }
        if let parents, parents.count > 1 {
            throw DriveError(
                400, "invalid", "A file cannot be added to multiple folders: it has one parent.", location: "parents")
        }
    }

    /// Applies to `file` the members that may change after creation.
    func apply(to file: inout DriveFile, at time: Date) {
        if let name { file.name = name }
        if let mimeType { file.mimeType = mimeType }
        if let details { file.details = details }
        if let isStarred { file.isStarred = isStarred }
        if let isTrashed { file.isTrashed = isTrashed }
        for (key, value) in properties { file.properties[key] = value }
        for (key, value) in appProperties { file.appProperties[key] = value }
        file.modifiedAt = modifiedTime ?? time
    }

    private static func text(_ name: String, _ value: JSONValue) throws(DriveError) -> String {
        guard let text = value.string else { throw .invalid(name) }
        return text
    }

    private static func flag(_ name: String, _ value: JSONValue) throws(DriveError) -> Bool {
        guard let flag = value.bool else { throw .invalid(name) }
        return flag
    }

    private static func time(_ name: String, _ value: JSONValue) throws(DriveError) -> Date {
        guard let text = value.string, let time = Date(text: text) else { throw .invalid(name) }
        return time
    }

    private static func properties(_ name: String, _ value: JSONValue) throws(DriveError) -> [String: String?] {
        guard let object = value.object else { throw .invalid(name) }
        var result: [String: String?] = [:]
        for member in object.members {
            if case .null = member.value {
                result[member.name] = .some(nil)
                continue
            }
            let text = try text(name, member.value)
            guard member.name.utf8.count + text.utf8.count <= largestPropertyBytes else {
                throw DriveError(
                    403, "propertyTooLong", "A property's key and value have more than 124 bytes.", location: name)
            }
            result[member.name] = text
        }
        return result
    }
}
