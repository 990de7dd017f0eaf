/// The name of one version of a file in its owner's cloud storage:
/// `<fileUUID>.<deviceUUID>.<fileVersion>.<extension>`.
///
/// The device is the one that uploaded this version, so the name changes when another device uploads the next version.
/// The UUIDs keep the letter case in which the clients sent them. Since both are well-formed UUIDs and the extension
/// comes from ``MIMETypeTable``, the name contains only ASCII letters, digits, hyphens and dots.
public struct CloudFileName: Sendable, Hashable, CustomStringConvertible {
    public let fileUUID: FileUUID
    public let deviceUUID: DeviceUUID
    public let fileVersion: FileVersion
    /// Without the dot.
    public let fileExtension: String

    /// Creates a name. `fileExtension` comes from ``MIMETypeTable/fileExtension(for:)``.
    public init(fileUUID: FileUUID, deviceUUID: DeviceUUID, fileVersion: FileVersion, fileExtension: String) {
        self.fileUUID = fileUUID
        self.deviceUUID = deviceUUID
        self.fileVersion = fileVersion
        self.fileExtension = fileExtension
    }

    /// Parses a name; nil if it is not of this form, such as that of the warning file.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, let file = FileUUID(String(parts[0])), let device = DeviceUUID(String(parts[1])),
            let version = FileVersion(queryText: String(parts[2])), !parts[3].isEmpty
        else { return nil }
        self.init(fileUUID: file, deviceUUID: device, fileVersion: version, fileExtension: String(parts[3]))
    }

    /// The name, without any folder.
    public var rawValue: String {
        "\(fileUUID.rawValue).\(deviceUUID.rawValue).\(fileVersion.rawValue).\(fileExtension)"
    }

    /// The name.
    public var description: String { rawValue }
}

/// The type of a file's contents, for example `image/jpeg`; fixed for the lifetime of a file.
///
/// Any text of 1 to 100 characters is a value; ``MIMETypeTable`` decides whether a type may be uploaded. Compared
/// exactly, as clients do.
public struct MIMEType: WireText, Hashable {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.mimeType

    /// Maximum length of accepted text, in Unicode scalars.
    public static let maximumCharacters = 100

    /// The type as sent in messages.
    public let rawValue: String

    /// Creates a type from its text; nil if it is empty or longer than 100 characters.
    public init?(_ text: String) {
        guard (1...Self.maximumCharacters).contains(text.unicodeScalars.count) else { return nil }
        rawValue = text
    }
}

/// The MIME types that may be uploaded, with the extensions that their files have in cloud storage.
///
/// The standard table contains the types that every deployed client knows. A type that an installed client does not
/// know stops that client from syncing the whole group, so other types must be configured. `unknown`, a client's marker
/// of an error, can never be added.
public struct MIMETypeTable: Sendable {
    /// The three types that every client knows.
    public static let standard = MIMETypeTable(extensions: [
        "text/plain": "txt", "image/jpeg": "jpg", "application/x-url": "url",
    ])

    private let extensions: [String: String]

    /// The extension, without a dot, of files of a type; nil if the type must be refused.
    public func fileExtension(for type: MIMEType) -> String? {
        extensions[type.rawValue]
    }

    /// The extension that SyncServerII gave to files of a type in cloud storage; it had one for every type.
    public static func extensionOfOlderServers(for type: MIMEType) -> String {
        if type.rawValue == "unknown" { return "unknown" }
        return standard.fileExtension(for: type) ?? "dat"
    }

    /// The table with additional configured types: MIME type to extension without a dot.
    ///
    /// Nil if a type is `unknown`, empty or longer than 100 characters, or contradicts the standard table; or if an
    /// extension is not 1 to 16 lower-case ASCII letters or digits, since it becomes part of file names.
    public func adding(_ additional: [String: String]) -> MIMETypeTable? {
        var merged = extensions
        for (type, fileExtension) in additional {
            guard MIMEType(type) != nil, type != "unknown",
                (1...16).contains(fileExtension.utf8.count),
                fileExtension.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }),
                extensions[type] == nil || extensions[type] == fileExtension
            else { return nil }
            merged[type] = fileExtension
        }
        return MIMETypeTable(extensions: merged)
    }
}
