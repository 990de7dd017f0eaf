public import Foundation
public import SyncProtocol

/// Stores a device's grant, with which a user who can no longer use an account proves to be the same person.
///
/// Must be readable without user interaction, even in the background, and keep the grant when the user signs out. On
/// Apple's platforms an app's keychain wrapper should conform; elsewhere use ``FileDeviceGrantStore``.
public protocol DeviceGrantStore: Sendable {
    /// The stored grant; nil if there is none.
    func load() throws -> DeviceGrant?
    /// Replaces the stored grant; with nil, removes it.
    func save(_ grant: DeviceGrant?) throws
}

/// Stores the grant in a file that only its owner can read (mode 0600).
public struct FileDeviceGrantStore: DeviceGrantStore {
    private let file: URL

    /// - Parameter file: Its folder must exist.
    public init(file: URL) { self.file = file }

    public func load() throws -> DeviceGrant? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return DeviceGrant(String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }

    public func save(_ grant: DeviceGrant?) throws {
        guard let grant else {
            if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
            return
        }
        // Others must not be able to read the file at any moment, even before its mode is set.
        let temporary = file.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: temporary)
        guard
            FileManager.default.createFile(
                atPath: temporary.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        let handle = try FileHandle(forWritingTo: temporary)
        defer { try? handle.close() }
        try handle.write(contentsOf: Data(grant.secret.utf8))
        try handle.synchronize()
        guard unsafe rename(temporary.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
