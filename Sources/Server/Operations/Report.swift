import FoundationEssentials
import Posix
import SyncProtocol

/// What a command found out, for people and for programs.
///
/// The names in the JSON form are an interface; docs/operations.md lists them.
public protocol Report: Encodable {
    /// For people: one line each, with values unescaped. Whatever shows them must escape what could forge other lines
    /// or control a terminal, as ``text`` does.
    var lines: [String] { get }
    /// Whether nothing is wrong; determines the exit status.
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
