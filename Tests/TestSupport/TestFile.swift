import Foundation

/// A client's file before its upload.
public struct TestFile: Sendable {
    /// The file's identifier, the same for all of its versions.
    public var uuid = UUID().uuidString
    /// The bytes of this version.
    public var contents: [UInt8]
    /// The MIME type, fixed for the life of the file.
    public var mimeType = "text/plain"
    /// This version's number, 0 for a new file.
    public var version = 0
    /// The owner's kind of storage, which determines the checksum.
    public var storage = SandboxProvider.google
    /// The file group, sent only with version 0.
    public var fileGroup: String?

    /// Creates a new text file.
    public init(_ text: String = "Hello World") { contents = Array(text.utf8) }

    /// Creates a new file with random bytes.
    public init(randomBytes count: Int, mimeType: String = "image/jpeg") {
        contents = RandomData.bytes(count)
        self.mimeType = mimeType
    }

    /// Returns the next version with a new text.
    public func next(_ text: String) -> TestFile {
        var copy = self
        copy.version += 1
        copy.contents = Array(text.utf8)
        copy.fileGroup = nil
        return copy
    }

    /// Returns the file for another kind of storage.
    public func stored(at storage: SandboxProvider) -> TestFile {
        var copy = self
        copy.storage = storage
        return copy
    }

    /// The checksum for its storage.
    public var checkSum: String { Checksum.of(contents, in: storage) }

    /// The wire name of its storage.
    public var cloudStorageType: String {
        storage == .webdav ? "WebDAV" : storage.rawValue.prefix(1).uppercased() + storage.rawValue.dropFirst()
    }

    /// The checksum for OneDrive: SHA-1 in upper-case hexadecimal digits.
    public var sha1: String { Checksum.sha1(contents) }

    /// The object's name in the owner's storage if `device` uploads this version.
    public func cloudName(device: String) -> String {
        let suffixes = [
            "text/plain": "txt", "image/jpeg": "jpg", "application/x-url": "url", "image/heic": "heic",
            "video/quicktime": "mov", "application/json": "json",
        ]
        return "\(uuid).\(device).\(version).\(suffixes[mimeType] ?? "dat")"
    }
}
