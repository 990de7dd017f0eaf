/// The name of one version of a file in its owner's cloud storage:
/// `<fileUUID>.<deviceUUID>.<fileVersion>.<extension>`.
///
/// The device is the one that uploaded this version, so the name changes when another device uploads the next version.
/// The UUIDs keep the letter case in which the clients sent them. Since both are well-formed UUIDs and the extension
/// comes from ``MIMEType``, the name contains only ASCII letters, digits, hyphens and dots.
public struct CloudFileName: Sendable, Hashable, CustomStringConvertible {
    public let fileUUID: FileUUID
    public let deviceUUID: DeviceUUID
    public let fileVersion: FileVersion
    /// Without the dot.
    public let fileExtension: String

    /// Creates a name. `fileExtension` comes from ``MIMEType/fileExtension``.
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
