import Foundation

/// A file as a client has it before it is uploaded.
public struct TestFile: Sendable {
    /// The file's identifier, the same for all of its versions.
    public var uuid = UUID().uuidString
    /// The bytes of this version.
    public var contents: [UInt8]
    /// The MIME type, fixed for the life of the file.
    public var mimeType = "text/plain"
    /// This version's number, 0 for a new file.
    public var version = 0
    /// In whose storage it goes, which decides about the checksum: that of its owner.
    public var storage = SandboxProvider.google
    /// The file group, only sent with version 0.
    public var fileGroup: String?

    /// A new text file.
    public init(_ text: String = "Hello World") { contents = Array(text.utf8) }

    /// A new file of random bytes.
    public init(randomBytes count: Int, mimeType: String = "image/jpeg") {
        contents = RandomData.bytes(count)
        self.mimeType = mimeType
    }

    /// The version after this one.
    public func next(_ text: String) -> TestFile {
        var copy = self
        copy.version += 1
        copy.contents = Array(text.utf8)
        copy.fileGroup = nil
        return copy
    }

    /// The same file for another kind of storage.
    public func stored(at storage: SandboxProvider) -> TestFile {
        var copy = self
        copy.storage = storage
        return copy
    }

    /// The checksum in the flavour of its storage.
    public var checkSum: String { Checksum.of(contents, in: storage) }

    /// The name of its storage on the wire.
    public var cloudStorageType: String {
        storage == .webdav ? "WebDAV" : storage.rawValue.prefix(1).uppercased() + storage.rawValue.dropFirst()
    }

    /// The checksum in OneDrive's flavour: SHA-1 in upper-case hexadecimal digits.
    public var sha1: String { Checksum.sha1(contents) }

    /// The name in the owner's storage if `device` uploads this version.
    public func cloudName(device: String) -> String {
        let suffixes = ["text/plain": "txt", "image/jpeg": "jpg", "application/x-url": "url"]
        return "\(uuid).\(device).\(version).\(suffixes[mimeType] ?? "dat")"
    }
}
