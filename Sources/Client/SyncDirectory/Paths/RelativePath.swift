package import Foundation

/// The path of a file below a directory: names separated by slashes, which never leave the directory.
///
/// Compared by canonical equivalence, like Swift's strings: the same name in Unicode's composed and decomposed form is
/// the same path. ``text`` keeps the original form, which the file system expects.
package struct RelativePath: Sendable, Hashable, CustomStringConvertible {
    /// Maximum length of a file or folder name, in bytes of UTF-8: the common limit of ext4, APFS and NTFS.
    package static let maximumNameBytes = 255
    /// Maximum length of a path, in bytes of UTF-8; far below the limit of a file's app metadata, and below PATH_MAX of
    /// Linux.
    package static let maximumBytes = 2_048
    /// The folder for the program's own files in a directory; never synchronized.
    package static let stateFolder = ".syncdir"

    /// The path, with `/` between its names.
    package let text: String

    /// Creates a path if it is safe below any directory.
    ///
    /// Nil for absolute and empty paths, for empty names, `.` and `..`, NUL and other control characters, names or
    /// paths that are too long, and anything in a folder named like ``stateFolder``, in any letter case.
    package init?(_ text: String) {
        guard (1...Self.maximumBytes).contains(text.utf8.count) else { return nil }
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        guard names.allSatisfy(Self.isUsable) else { return nil }
        self.text = text
    }

    private static func isUsable(_ name: Substring) -> Bool {
        guard (1...maximumNameBytes).contains(name.utf8.count), name != ".", name != ".." else { return false }
        // C0, DEL and C1; a slash may be part of a grapheme with a combining mark.
        guard name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0 != "/" })
        else { return false }
        // HFS+ ignores invisible code points when it looks up names.
        let shown = String(
            String.UnicodeScalarView(name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }))
        return shown.lowercased() != stateFolder
    }

    /// The names of the path's components, the file's own last.
    package var names: [String] { text.split(separator: "/").map(String.init) }

    /// The file's own name.
    package var name: String { names.last ?? text }

    /// The folder that contains the file; nil directly below the directory.
    package var parent: RelativePath? {
        let names = names.dropLast()
        return names.isEmpty ? nil : RelativePath(names.joined(separator: "/"))
    }

    /// Another name in the same folder; nil if it is unusable.
    package func renamed(_ name: String) -> RelativePath? {
        let folder = names.dropLast()
        return RelativePath((folder + [name]).joined(separator: "/"))
    }

    /// All parent folders, outermost first.
    package var ancestors: [RelativePath] {
        let names = names
        return (1..<max(names.count, 1)).compactMap { RelativePath(names.prefix($0).joined(separator: "/")) }
    }

    /// Whether `other` is anywhere below this path.
    package func contains(_ other: RelativePath) -> Bool { other.ancestors.contains(self) }

    /// Whether both have the same bytes, not only canonically equivalent text.
    package func isSpelled(like other: RelativePath) -> Bool { text.utf8.elementsEqual(other.text.utf8) }

    /// The form in which paths are sent: Unicode's composed form (NFC).
    package var composed: RelativePath { RelativePath(text.precomposedStringWithCanonicalMapping) ?? self }

    /// The text.
    package var description: String { text }
}

/// A key that is equal for two paths that a file system cannot distinguish.
package struct PathKey: Sendable, Hashable {
    private let text: String

    /// - Parameter ignoresCase: whether the directory's file system is case-insensitive.
    package init(_ path: RelativePath, ignoresCase: Bool) {
        text = ignoresCase ? path.text.lowercased() : path.text
    }
}

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
