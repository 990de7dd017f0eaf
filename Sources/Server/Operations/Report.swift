import FoundationEssentials
import Posix

/// What a command found out, for people and for programs.
///
/// The JSON form's names are an interface; docs/operations.md lists them.
public protocol Report: Encodable {
    /// For people: a line each, as values have it. Whatever shows them escapes what could fake other lines or order a
    /// terminal about, as ``text`` does.
    var lines: [String] { get }
    /// Whether nothing is wrong; decides the exit status.
    var isGood: Bool { get }
}

extension Report {
    public var isGood: Bool { true }

    /// For people: lines without an end of line after the last, safe on a terminal.
    public var text: String { PrintableText.lines(lines) }

    /// For programs: one JSON object, names sorted.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
