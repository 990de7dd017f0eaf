/// The name of one version of a file in its owner's cloud storage:
/// `<fileUUID>.<deviceUUID>.<fileVersion>.<extension>`.
///
/// The device is the one that uploaded this version, so the name changes when another device uploads the next. Letter
/// case of the UUIDs is as the clients sent it. As both parts are well-formed UUIDs and the extension comes from
/// ``MIMETypeTable``, the name holds only ASCII letters, digits, hyphens and dots.
public struct CloudFileName: Sendable, Hashable, CustomStringConvertible {
    /// The name, without any folder.
    public let rawValue: String

    /// Puts the name together. `fileExtension` comes from ``MIMETypeTable/fileExtension(for:)``.
    public init(fileUUID: FileUUID, deviceUUID: DeviceUUID, fileVersion: FileVersion, fileExtension: String) {
        rawValue = "\(fileUUID.rawValue).\(deviceUUID.rawValue).\(fileVersion.rawValue).\(fileExtension)"
    }

    /// The name.
    public var description: String { rawValue }
}
