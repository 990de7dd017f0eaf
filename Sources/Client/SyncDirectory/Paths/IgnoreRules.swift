internal import Foundation

/// Decides which files of a directory are ignored: those that match `.syncdirignore`, and the program's own.
///
/// One pattern per line; `#` begins a comment. `*` matches any characters except a slash, `**` any characters, `?` one
/// character except a slash. A pattern that contains a slash before its last character is matched from the directory's
/// root, other patterns at any depth; a pattern that ends in a slash matches only folders. `!` before a pattern defines
/// an exception; the last match counts. Everything in an ignored folder is ignored.
package struct IgnoreRules: Sendable {
    /// The file with the patterns, directly below the directory. It is synchronized itself.
    package static let fileName = ".syncdirignore"
    /// Maximum size of a pattern file, in bytes.
    package static let maximumBytes = 1_048_576

    private struct Rule: Sendable {
        var pattern: [Character]
        var isException: Bool
        var isForFoldersOnly: Bool
        var isAnchored: Bool
    }

    private let rules: [Rule]

    /// No patterns.
    package init() { rules = [] }

    /// Parses the text of a pattern file.
    package init(text: String) {
        rules = text.split(whereSeparator: \.isNewline).compactMap { line in
            var pattern = line.trimmingCharacters(in: .whitespaces)
            guard !pattern.isEmpty, !pattern.hasPrefix("#") else { return nil }
            let isException = pattern.hasPrefix("!")
            if isException { pattern.removeFirst() }
            let isForFoldersOnly = pattern.hasSuffix("/")
            if isForFoldersOnly { pattern.removeLast() }
            let isAnchored = pattern.contains("/")
            if pattern.hasPrefix("/") { pattern.removeFirst() }
            guard !pattern.isEmpty else { return nil }
            return Rule(
                pattern: Array(pattern), isException: isException, isForFoldersOnly: isForFoldersOnly,
                isAnchored: isAnchored)
        }
    }

    /// Whether a file is ignored, by itself or at any depth in an ignored folder.
    package func ignoresFile(_ path: RelativePath) -> Bool {
        path.ancestors.contains { ignoresItself($0, isFolder: true) } || ignoresItself(path, isFolder: false)
    }

    /// Whether a folder or a file matches the patterns itself, regardless of its parent folders.
    package func ignoresItself(_ path: RelativePath, isFolder: Bool) -> Bool {
        ignores(path.text, path.name, isFolder)
    }

    /// Whether a file with an unusable name matches the patterns, as its name is shown to people.
    func ignoresUnusable(_ shown: String) -> Bool {
        ignores(shown, shown.split(separator: "/").last.map(String.init) ?? shown, false)
    }

    private func ignores(_ path: String, _ name: String, _ isFolder: Bool) -> Bool {
        guard !rules.isEmpty else { return false }
        let (whole, name) = (Array(path), Array(name))
        var ignored = false
        for rule in rules where isFolder || !rule.isForFoldersOnly {
            if Self.matches(rule.pattern[...], (rule.isAnchored ? whole : name)[...]) { ignored = !rule.isException }
        }
        return ignored
    }

    /// Matches from left to right and backtracks only to the last star, so the time is bounded by the product of both
    /// lengths, except for `**`, which is tried at each position.
    private static func matches(_ pattern: ArraySlice<Character>, _ text: ArraySlice<Character>) -> Bool {
        var (pattern, text) = (pattern, text)
        var retry: (pattern: ArraySlice<Character>, text: ArraySlice<Character>)?
        while true {
            if pattern.starts(with: "**") {
                let rest = pattern.dropFirst(2)
                // `a/**/b` also matches `a/b`.
                if rest.first == "/", matches(rest.dropFirst(), text) { return true }
                return (text.startIndex...text.endIndex).contains { matches(rest, text[$0...]) }
            }
            if pattern.first == "*" {
                pattern = pattern.dropFirst()
                retry = (pattern, text)
                continue
            }
            if let wanted = pattern.first, let found = text.first, wanted == found || (wanted == "?" && found != "/") {
                (pattern, text) = (pattern.dropFirst(), text.dropFirst())
                continue
            }
            if pattern.isEmpty, text.isEmpty { return true }
            guard let again = retry, let next = again.text.first, next != "/" else { return false }
            (pattern, text) = (again.pattern, again.text.dropFirst())
            retry = (pattern, text)
        }
    }
}
