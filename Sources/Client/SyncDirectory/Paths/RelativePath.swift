internal import Foundation

/// The place of a file below a directory: names separated by slashes, none of which leads out of the directory.
///
/// Compared by canonical equivalence, as Swift compares text: the same name in Unicode's composed and decomposed form is
/// the same path. ``text`` keeps the form in which it came, which is what the file system wants to see.
package struct RelativePath: Sendable, Hashable, CustomStringConvertible {
    /// Longest name of one file or folder, in bytes of UTF-8: what ext4, APFS and NTFS have in common.
    package static let maximumNameBytes = 255
    /// Longest path, in bytes of UTF-8; far below what fits into a file's app metadata, and below PATH_MAX of Linux.
    package static let maximumBytes = 2_048
    /// The folder in which a directory keeps what belongs to the program; never synchronized.
    package static let stateFolder = ".syncdir"

    /// The path, with `/` between its names.
    package let text: String

    /// Takes a path over if it is safe below any directory.
    ///
    /// Nil for absolute and empty paths, for empty names, `.` and `..`, NUL and other control characters, names or paths
    /// that are too long, and whatever lies in a folder named like ``stateFolder``, in any letter case.
    package init?(_ text: String) {
        guard (1...Self.maximumBytes).contains(text.utf8.count) else { return nil }
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        guard names.allSatisfy(Self.isUsable) else { return nil }
        self.text = text
    }

    private static func isUsable(_ name: Substring) -> Bool {
        guard (1...maximumNameBytes).contains(name.utf8.count), name != ".", name != ".." else { return false }
        // C0, DEL and C1; the slash may hide in a grapheme together with a combining mark.
        guard name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0 != "/" })
        else { return false }
        // HFS+ looks names up without the code points that are not shown.
        let shown = String(
            String.UnicodeScalarView(name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }))
        return shown.lowercased() != stateFolder
    }

    /// The names on the way, the file's own last.
    package var names: [String] { text.split(separator: "/").map(String.init) }

    /// The file's own name.
    package var name: String { names.last ?? text }

    /// The folder that the file is in; nil directly below the directory.
    package var parent: RelativePath? {
        let names = names.dropLast()
        return names.isEmpty ? nil : RelativePath(names.joined(separator: "/"))
    }

    /// Another name in the same folder; nil if it is unusable.
    package func renamed(_ name: String) -> RelativePath? {
        let folder = names.dropLast()
        return RelativePath((folder + [name]).joined(separator: "/"))
    }

    /// All folders on the way, the outermost first.
    package var ancestors: [RelativePath] {
        let names = names
        return (1..<max(names.count, 1)).compactMap { RelativePath(names.prefix($0).joined(separator: "/")) }
    }

    /// Whether `other` lies somewhere below this.
    package func contains(_ other: RelativePath) -> Bool { other.ancestors.contains(self) }

    /// The form in which paths travel: Unicode's composed one (NFC).
    package var composed: RelativePath { RelativePath(text.precomposedStringWithCanonicalMapping) ?? self }

    /// The text.
    package var description: String { text }
}

/// What two paths have in common when a file system cannot keep them apart.
package struct PathKey: Sendable, Hashable {
    private let text: String

    /// - Parameter ignoresCase: whether the directory's file system does.
    package init(_ path: RelativePath, ignoresCase: Bool) {
        text = ignoresCase ? path.text.lowercased() : path.text
    }
}
