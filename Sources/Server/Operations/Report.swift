import FoundationEssentials
import Posix
import SyncProtocol

/// The result of a command, for people and for programs.
///
/// The names in the JSON form are an interface; docs/operations.md lists them.
public protocol Report: Encodable {
    /// For people: one line each, with values unescaped. Code that displays them must escape characters that could
    /// forge other lines or control a terminal, as ``text`` does.
    var lines: [String] { get }
    /// Whether there are no problems; determines the exit status.
    var isGood: Bool { get }
}

extension Report {
    public var isGood: Bool { true }

    /// For people: lines without a trailing newline, safe on a terminal.
    public var text: String { PrintableText.lines(lines) }

    /// For programs: one JSON object, names sorted.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        if let key = WireDate.isForOperators { encoder.userInfo[key] = true }
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
