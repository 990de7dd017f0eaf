import Foundation
import Testing

@testable import SyncDirectory

@Suite("Untrusted paths")
struct PathTests {
    @Test(
        "Paths that could lead outside the directory or into the program's folder are rejected",
        arguments: [
            "", "/", "/etc/passwd", "..", "../a", "a/..", "a/../../b", ".", "./a", "a//b", "a/", "a\u{0}b", "a\nb",
            "a\u{1B}[31m", "a/\u{301}b", ".syncdir", ".syncdir/record", "a/.SyncDir/b", ".sync\u{200C}dir/x",
            String(repeating: "n", count: 256), String(repeating: "a/", count: 1_024) + "a",
        ])
    func unsafePaths(_ text: String) { #expect(RelativePath(text) == nil) }

    @Test(
        "All other paths are accepted, in any script",
        arguments: ["a", ".hidden", "a b/c.txt", "日本/写真.jpg", "...", "a/..b", "-rf", "~", "a\\b", "\u{1F600}.txt"])
    func usablePaths(_ text: String) { #expect(RelativePath(text)?.text == text) }

    @Test("Composed and decomposed forms are one path; letter case is ignored only where the file system ignores it")
    func equality() throws {
        let composed = try #require(RelativePath("caf\u{E9}"))
        let decomposed = try #require(RelativePath("cafe\u{301}"))
        let capital = try #require(RelativePath("CAF\u{C9}"))

        #expect(composed == decomposed)
        #expect(decomposed.composed.text.unicodeScalars.count == 4)
        #expect(PathKey(composed, ignoresCase: true) == PathKey(capital, ignoresCase: true))
        #expect(PathKey(composed, ignoresCase: false) != PathKey(capital, ignoresCase: false))
    }

    @Test("A path lists its parent folders")
    func ancestors() throws {
        let path = try #require(RelativePath("a/b/c"))

        #expect(path.ancestors.map(\.text) == ["a", "a/b"])
        #expect(path.parent?.text == "a/b" && path.name == "c")
        #expect(RelativePath("a")?.contains(path) == true)
        #expect(RelativePath("a")?.contains(RelativePath("ab/c")!) == false)
    }

    private static let day = Date(timeIntervalSince1970: 1_790_000_000)

    @Test(
        "The name of a conflict copy keeps the extension, and adds the person and the date",
        arguments: [
            ("notes/a.txt", "Ada", "notes/a (conflict of Ada, 2026-09-21).txt"),
            ("a", "Ada", "a (conflict of Ada, 2026-09-21)"),
            (".bashrc", "Ada", ".bashrc (conflict of Ada, 2026-09-21)"),
            ("a.txt", "../../etc\n\u{1B}", "a (conflict of ....etc, 2026-09-21).txt"),
            ("a.txt", "", "a (conflict of somebody, 2026-09-21).txt"),
        ])
    func conflictNames(_ path: String, _ person: String, _ expected: String) throws {
        let name = ConflictName.first(
            for: try #require(RelativePath(path)), person: person, date: Self.day, isTaken: { _ in false })
        #expect(name.text == expected)
    }

    @Test("A number is added to a name in use; a name that is too long is truncated")
    func furtherConflictNames() throws {
        var asked = 0
        let third = ConflictName.first(
            for: try #require(RelativePath("a.txt")), person: "Ada", date: Self.day,
            isTaken: { _ in
                asked += 1
                return asked < 3
            })
        let long = ConflictName.first(
            for: try #require(RelativePath("f/" + String(repeating: "é", count: 120) + ".txt")), person: "Ada",
            date: Self.day, isTaken: { _ in false })

        #expect(third.text == "a (conflict of Ada, 2026-09-21 3).txt")
        #expect(long.text.hasSuffix("é (conflict of Ada, 2026-09-21).txt") && long.name.utf8.count <= 255)
    }

    @Test("Only plausible parts of a file's metadata are used")
    func descriptions() throws {
        let own = FileDescription(path: try #require(RelativePath("e\u{301}/a")), modified: 12, by: "Ada \"A\"")

        #expect(FileDescription(appMetaData: own.appMetaData) == own)
        #expect(own.relativePath?.text.unicodeScalars.first == "\u{E9}")
        #expect(FileDescription(appMetaData: "plain text of another app") == nil)
        #expect(FileDescription(appMetaData: "{}")?.relativePath == nil)
        #expect(FileDescription(appMetaData: #"{"path":"../x","modified":-5}"#)?.relativePath == nil)
        #expect(FileDescription(appMetaData: #"{"modified":-5}"#)?.modificationDate == nil)
        #expect(FileDescription(appMetaData: #"{"modified":99999999999999999}"#)?.modificationDate == nil)
    }

    @Test(
        "Patterns of ignored files",
        arguments: [
            ("*.tmp", "a/b.tmp", true), ("*.tmp", "a.tmp/b", true), ("*.tmp", "a.tmpx", false),
            ("/a", "a", true), ("/a", "b/a", false), ("build/", "build/x/y", true), ("build/", "build", false),
            ("a/**/z", "a/b/c/z", true), ("a/**/z", "a/z", true), ("a/*/z", "a/b/c/z", false), ("a/*", "a/b", true),
            ("?.txt", "a.txt", true), ("?.txt", "ab.txt", false), ("# x", "# x", false), ("", "a", false),
            ("*.tmp\n!keep.tmp", "keep.tmp", false), ("*.tmp\n!keep.tmp", "x/other.tmp", true),
            ("a*b*c", "axxbxxbc", true), ("a*b*c", "axxbxx", false),
        ])
    func ignoring(_ rules: String, _ path: String, _ isIgnored: Bool) throws {
        #expect(IgnoreRules(text: rules).ignoresFile(try #require(RelativePath(path))) == isIgnored)
    }
}
