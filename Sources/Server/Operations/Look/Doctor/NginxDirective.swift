import Posix

/// A directive of nginx's configuration, with the contents of its block.
struct NginxDirective: Equatable, Sendable {
    /// Its name and its parameters, without quotes.
    var words: [String]
    /// Empty for a directive without a block.
    var block: [NginxDirective] = []

    var name: String { words.first ?? "" }
    var parameters: ArraySlice<String> { words.dropFirst() }

    /// Reads a configuration's main file, and replaces each `include` by the included files.
    ///
    /// Files that nginx would reject are read as far as possible; nginx itself judges their validity.
    static func read(_ files: NginxFiles) -> [NginxDirective] {
        files.main.map { directives(in: $0, files, depth: 0) } ?? []
    }

    /// Deeper includes are treated as a loop.
    private static let maximumDepth = 16

    private static func directives(in text: String, _ files: NginxFiles, depth: Int) -> [NginxDirective] {
        var tokens = NginxTokens(text)
        return directives(&tokens, files, depth)
    }

    private static func directives(
        _ tokens: inout NginxTokens, _ files: NginxFiles, _ depth: Int
    ) -> [NginxDirective] {
        var found: [NginxDirective] = []
        var words: [String] = []
        while let token = tokens.next() {
            switch token {
            case .word(let word): words.append(word)
            case .end:
                if words.count == 2, words[0] == "include" {
                    if depth < maximumDepth {
                        for text in files.included(words[1]) {
                            found += directives(in: text, files, depth: depth + 1)
                        }
                    }
                } else if !words.isEmpty {
                    found.append(NginxDirective(words: words))
                }
                words = []
            case .open:
                found.append(NginxDirective(words: words, block: directives(&tokens, files, depth)))
                words = []
            case .close: return found
            }
        }
        return found
    }
}

extension [NginxDirective] {
    /// The parameters of each directive of that name, without looking into blocks.
    func all(_ name: String) -> [ArraySlice<String>] { filter { $0.name == name }.map(\.parameters) }

    /// The first parameter of the last directive of that name, without looking into blocks.
    func value(_ name: String) -> String? { last { $0.name == name }?.parameters.first }

    /// The directives of that name, in all blocks.
    func anywhere(_ name: String) -> [NginxDirective] {
        flatMap { ($0.name == name ? [$0] : []) + $0.block.anywhere(name) }
    }
}

/// The words of a configuration file (nginx, "Beginner's Guide", "Configuration File's Structure").
private struct NginxTokens {
    enum Token {
        case word(String)
        case end, open, close
    }

    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
    }

    mutating func next() -> Token? {
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): rest.removeFirst()
            case UInt8(ascii: "#"): rest = rest.drop { $0 != UInt8(ascii: "\n") }
            case UInt8(ascii: ";"):
                rest.removeFirst()
                return .end
            case UInt8(ascii: "{"):
                rest.removeFirst()
                return .open
            case UInt8(ascii: "}"):
                rest.removeFirst()
                return .close
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                rest.removeFirst()
                return .word(word { $0 == byte })
            default: return .word(bareWord())
            }
        }
        return nil
    }

    /// Reads up to white space, a semicolon or a brace, except the brace of a variable, `${name}`, and leaves it for
    /// the next call.
    private mutating func bareWord() -> String {
        var bytes: [UInt8] = []
        while let byte = rest.first, !" \t\r\n;".utf8.contains(byte) {
            if byte == UInt8(ascii: "{"), bytes.last != UInt8(ascii: "$") { break }
            rest.removeFirst()
            bytes.append(byte)
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { bytes.append(escaped) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads up to the closing quote.
    private mutating func word(_ isEnd: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst(), !isEnd(byte) {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                if !isEnd(escaped) { bytes.append(byte) }
                bytes.append(escaped)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The texts of nginx's configuration, from nginx's output or from its folder.
struct NginxFiles {
    /// The main file, or `nil`.
    let main: String?
    /// The folder of the main file, to which relative paths refer; empty if unknown.
    let folder: String
    private let texts: (_ path: String) -> [String]

    /// The files that an `include` matches, in nginx's order; only the last part of the path can contain wildcards.
    func included(_ pattern: String) -> [String] {
        texts(pattern.hasPrefix("/") || folder.isEmpty ? pattern : "\(folder)/\(pattern)")
    }

    /// Parses the output of `nginx -T`: each file that it has read, after a line with its path, the main file first.
    init(dump: String) {
        let mark = "# configuration file "
        var files: [(path: String, text: String)] = []
        for line in dump.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(mark), line.hasSuffix(":") {
                files.append((String(line.dropFirst(mark.count).dropLast()), ""))
            } else if !files.isEmpty {
                files[files.count - 1].text += line + "\n"
            }
        }
        main = files.first?.text
        folder = files.first.map { Self.parts(of: $0.path).folder } ?? ""
        texts = { pattern in
            let (folder, last) = Self.parts(of: pattern)
            return files.filter { file in
                let (place, name) = Self.parts(of: file.path)
                return place == folder && Directory.matches(name, pattern: last)
            }.sorted { $0.path < $1.path }.map(\.text)
        }
    }

    /// The files that nginx would read in a folder, usually `/etc/nginx`, without copies of them. If the host's
    /// root is elsewhere, it follows from the folder's path.
    init(folder: String) {
        let place = "/etc/nginx"
        let root = folder.hasSuffix(place) ? String(folder.dropLast(place.count)) : ""
        self.folder = folder
        main = Self.text(at: "\(folder)/nginx.conf")
        texts = { pattern in
            let path = pattern.hasPrefix(folder) ? pattern : root + pattern
            let (folder, last) = Self.parts(of: path)
            guard last.contains(where: { "*?[".contains($0) }) else { return [Self.text(at: path)].compactMap(\.self) }
            let names = (try? Directory.names(in: folder, matching: last)) ?? []
            return names.compactMap { Self.text(at: "\(folder)/\($0)") }
        }
    }

    private static func text(at path: String) -> String? {
        (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func parts(of path: String) -> (folder: String, last: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
