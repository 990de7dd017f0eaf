package import Foundation

/// The description of a file in its app metadata: small JSON, such as
/// `{"by":"Ada","modified":1790000000000,"path":"notes/a.txt"}`.
///
/// Others write it, and other programs may use the same sharing group: missing or unusable values are nil.
package struct FileDescription: Sendable, Hashable, Codable {
    /// The file's path below the directory, as received; see ``relativePath``.
    package var path: String?
    /// When the contents were last changed, in milliseconds since 1970.
    package var modified: Int64?
    /// The display name of the person who last changed the contents.
    package var by: String?

    /// Creates a description; the path is sent in composed form (NFC).
    /// - Parameter modified: in milliseconds since 1970.
    package init(path: RelativePath, modified: Int64, by: String) {
        self.path = path.composed.text
        self.modified = modified
        self.by = by
    }

    /// Parses a text; nil if it is not a file description.
    package init?(appMetaData text: String) {
        guard let parsed = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = parsed
    }

    /// The text to attach to the file.
    package var appMetaData: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(self) else { preconditionFailure("text and numbers are JSON") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The file's path; nil if it is missing or unsafe.
    package var relativePath: RelativePath? { path.flatMap { RelativePath($0) } }

    /// When the contents were last changed, if that is a time between 1970 and 2262, which all file systems can store.
    package var modificationDate: Date? {
        guard let modified, (0...9_223_372_036_000).contains(modified) else { return nil }
        return Date(timeIntervalSince1970: Double(modified) / 1_000)
    }
}
