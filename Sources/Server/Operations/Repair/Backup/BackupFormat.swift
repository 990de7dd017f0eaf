import FoundationEssentials
import OpenSSLCrypto
import Posix
import Store
public import SyncProtocol

/// A backup is one gzip-compressed file of UTF-8 lines; the first character of a line is its kind.
///
///     H {"format": 2, …}                      the header: the first line F {"path": "/etc/…", "text": "…"}       a
///     file of the host T {"table": "users", "columns": […]}    a table begins R 7␉Google␉… a row; values are separated
///     by tabs E {"rows": 1, "sha256": "…"}            the table ends; SHA-256 over its R lines, their ends included M
///     {"tables": {"users": 1, …}, …}        the manifest: the last line; without it, the backup is truncated In a row,
///     `\N` is NULL, and bytes are hexadecimal digits; in texts, tab, line feed, carriage return and backslash are
///     `\t`, `\n`, `\r` and `\\`.
public enum BackupFormat {
    /// Incremented when an older program could not read the file. 2 can contain files of the host; a backup without
    /// such files is still written as 1.
    public static let version = 2

    /// The first line.
    public struct Header: Codable, Equatable, Sendable {
        public var format: Int
        /// The version of the program that wrote the backup.
        public var serverVersion: String
        /// The number of the latest schema migration step.
        public var schema: Int
        /// The time of the snapshot, UTC.
        public var takenAt: WireDate
        /// The database's name, for display.
        public var database: String
    }

    struct Table: Codable {
        var table: StoredTable
        var columns: [StoredColumn]
    }

    struct TableEnd: Codable, Equatable {
        var rows: Int
        var sha256: String
    }

    /// The last line.
    public struct Manifest: Codable, Equatable, Sendable {
        /// A table's rows and the SHA-256 of its lines.
        public struct Part: Codable, Equatable, Sendable {
            public var rows: Int
            public var sha256: String
            /// The number of the next row; absent if rows are not numbered.
            public var nextNumber: Int64?
        }

        public var header: Header
        public var parts: [String: Part]
        /// The names of the keys that sealed the tokens; the keys themselves are not in the backup.
        public var sealingKeys: [String]
        /// The SHA-256 of each host file's text, by path; absent in a backup that contains only rows.
        public var files: [String: String]?
    }

    static func line(_ type: Character, _ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array("\(type) ".utf8) + [UInt8](try encoder.encode(value)) + [UInt8(ascii: "\n")]
    }

    static func line(_ values: [StoredValue]) -> [UInt8] {
        var line: [UInt8] = [UInt8(ascii: "R"), UInt8(ascii: " ")]
        for (index, value) in values.enumerated() {
            if index > 0 { line.append(UInt8(ascii: "\t")) }
            switch value {
            case .null: line += [UInt8(ascii: "\\"), UInt8(ascii: "N")]
            case .integer(let number): line += String(number).utf8
            case .text(let text): for byte in text.utf8 { append(byte, to: &line) }
            case .bytes(let bytes): line += bytes.hexLowercase.utf8
            }
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func append(_ byte: UInt8, to line: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\t"): line += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
        case UInt8(ascii: "\n"): line += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
        case UInt8(ascii: "\r"): line += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
        case UInt8(ascii: "\\"): line += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
        default: line.append(byte)
        }
    }

    /// The values of a row; `nil` unless their number and kinds match the columns.
    static func values(_ line: some Collection<UInt8>, _ columns: [StoredColumn]) -> [StoredValue]? {
        let cells = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        guard cells.count == columns.count else { return nil }
        var values: [StoredValue] = []
        values.reserveCapacity(cells.count)
        for (cell, column) in zip(cells, columns) {
            guard let value = value(Array(cell), column.kind) else { return nil }
            values.append(value)
        }
        return values
    }

    private static func value(_ cell: [UInt8], _ kind: StoredColumn.Kind) -> StoredValue? {
        if cell == [UInt8(ascii: "\\"), UInt8(ascii: "N")] { return .null }
        let text = String(decoding: cell, as: UTF8.self)
        switch kind {
        case .integer: return Int64(text).map(StoredValue.integer)
        case .bytes: return [UInt8](hexadecimal: text).map(StoredValue.bytes)
        case .text: return unescaped(cell).map { .text(String(decoding: $0, as: UTF8.self)) }
        }
    }

    private static func unescaped(_ cell: [UInt8]) -> [UInt8]? {
        guard cell.contains(UInt8(ascii: "\\")) else { return cell }
        var bytes: [UInt8] = []
        var rest = cell[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            default: return nil
            }
        }
        return bytes
    }
}

/// Why a file cannot be used as a backup.
public enum BackupError: Error, Equatable, CustomStringConvertible {
    /// The file to write already exists.
    case exists(String)
    case notABackup
    case formatTooNew(Int)
    /// The schema is newer than this program's.
    case schemaTooNew(Int, known: Int)
    /// A line is malformed; lines are counted from 1.
    case malformed(line: Int)
    /// A table's rows differ from those written.
    case wrongSum(table: String)
    case cutShort
    /// The paths of host files in the backup that `syncctl backup` does not write.
    case foreignFiles([String])
    /// The database has tables that this program does not know and would omit.
    case unknownTables([String])
    /// The database's contents differ from the backup's counts.
    case countsDiffer(table: String, expected: Int, found: Int)

    public var description: String {
        switch self {
        case .exists(let path): "\(path) already exists; nothing was written"
        case .notABackup: "this is not a backup written by syncctl"
        case .formatTooNew(let version):
            "the backup's format, \(version), is newer than this program: install the newer release"
        case .schemaTooNew(let schema, let known):
            "the backup's schema, \(schema), is newer than this program's, \(known): install the newer release"
        case .malformed(let line): "line \(line) of the backup is damaged"
        case .wrongSum(let table): "the rows of \(table) in the backup are damaged: their SHA-256 differs"
        case .cutShort: "the backup is truncated: its manifest is missing"
        case .foreignFiles(let paths):
            "the backup contains files that syncctl never writes, so somebody has changed it: "
                + paths.map(PrintableText.escaping).joined(separator: ", ") + "; restore does not write them"
        case .unknownTables(let tables):
            "the database has tables that this program does not know: \(tables.joined(separator: ", ")); nothing was "
                + "written"
        case .countsDiffer(let table, let expected, let found):
            "\(table) has \(found) rows, but the backup has \(expected)"
        }
    }
}

extension BackupFormat.Manifest {
    var lines: [String] {
        let rows = parts.filter { $0.value.rows > 0 }.sorted { $0.key < $1.key }
        return [
            "taken      \(header.takenAt.iso8601), database \(header.database), server \(header.serverVersion), schema "
                + "\(header.schema)",
            "contains   "
                + (rows.isEmpty ? "nothing" : rows.map { "\($0.key) \($0.value.rows)" }.joined(separator: ", ")),
        ] + (files.map { ["files      \($0.keys.sorted().joined(separator: ", "))"] } ?? [])
    }
}
