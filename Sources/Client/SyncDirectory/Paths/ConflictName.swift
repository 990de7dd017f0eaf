package import Foundation

/// Names for the second of two files that claim the same path: `name (conflict of PERSON, DATE).ext`.
package enum ConflictName {
    /// Maximum length of the part of a person's name in a conflict name, in characters.
    private static let maximumPersonCharacters = 40

    /// The first unused conflict name.
    ///
    /// - Parameters:
    ///   - path: the path that both files claim.
    ///   - person: the author of the contents; any text, since others choose it.
    ///   - date: when the contents were written; the name contains its day, in UTC, so that all devices choose the same
    ///     name.
    ///   - isTaken: returns whether a path is in use.
    package static func first(
        for path: RelativePath, person: String, date: Date, isTaken: (RelativePath) -> Bool
    ) -> RelativePath {
        let person = sanitized(person)
        let day = date.formatted(.iso8601.year().month().day())
        var number = 1
        while true {
            let ending = number == 1 ? "" : " \(number)"
            let mark = " (conflict of \(person), \(day)\(ending))"
            if let candidate = marked(path, mark), !isTaken(candidate) { return candidate }
            number += 1
        }
    }

    /// `path` with a mark before its extension; the name is shortened if it is too long.
    private static func marked(_ path: RelativePath, _ mark: String) -> RelativePath? {
        let name = path.name
        var (stem, suffix) = (name, "")
        if let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32 {
            stem = String(name[..<dot])
            suffix = String(name[dot...])
        }
        while (stem + mark + suffix).utf8.count > RelativePath.maximumNameBytes, !stem.isEmpty { stem.removeLast() }
        if let renamed = path.renamed(stem + mark + suffix) { return renamed }
        // The folder's path leaves no room for the mark.
        return RelativePath(stem + mark + suffix)
    }

    /// A person's name without characters that file systems or terminals could misinterpret.
    private static func sanitized(_ person: String) -> String {
        let scalars = person.unicodeScalars.filter {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || " -_'.@+".unicodeScalars.contains($0)
        }
        let name = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
        return name.isEmpty ? "somebody" : String(name.prefix(maximumPersonCharacters))
    }
}
