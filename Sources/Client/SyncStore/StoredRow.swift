internal import Foundation
internal import GRDB
internal import SyncEngine
internal import SyncProtocol

/// The stored form of a row of the state in its table.
protocol StoredRow: TableRow {
    static var table: String { get }
    static var selectSQL: String { get }
    static var upsertSQL: String { get }
    static var deleteSQL: String { get }
    /// In the order of ``upsertSQL``.
    var values: [(any DatabaseValueConvertible)?] { get }
    init(stored: ColumnReader) throws
    static func databaseValue(of key: Key) -> any DatabaseValueConvertible
}

extension StoredRow {
    static func load(_ db: Database) throws -> [Self] {
        try Row.fetchAll(db, sql: selectSQL).map { try Self(stored: ColumnReader(row: $0, table: table)) }
    }
}

extension StoredRow where Key: CasePreservingIdentifier {
    static func databaseValue(of key: Key) -> any DatabaseValueConvertible { key.rawValue }
}

extension StoredRow where Key == RowID<Self> {
    static func databaseValue(of key: Key) -> any DatabaseValueConvertible { key.rawValue }
}

/// Reads typed values from a row, and reports which one is invalid.
struct ColumnReader {
    let row: Row
    let table: String

    func corrupt(_ column: String) -> StoreError {
        .corrupt(table: table, column: column)
    }

    func optionalText(_ column: String) throws -> String? {
        if let bytes = Data.fromDatabaseValue(row[column]), case .blob = (row[column] as DatabaseValue).storage {
            guard let text = String(bytes: bytes, encoding: .utf8) else { throw corrupt(column) }
            return text
        }
        guard let value = String.fromDatabaseValue(row[column]) else {
            guard (row[column] as DatabaseValue).isNull else { throw corrupt(column) }
            return nil
        }
        return value
    }

    func optionalInteger(_ column: String) throws -> Int64? {
        guard let value = Int64.fromDatabaseValue(row[column]) else {
            guard (row[column] as DatabaseValue).isNull else { throw corrupt(column) }
            return nil
        }
        return value
    }

    func optionalReal(_ column: String) throws -> Double? {
        guard let value = Double.fromDatabaseValue(row[column]) else {
            guard (row[column] as DatabaseValue).isNull else { throw corrupt(column) }
            return nil
        }
        return value
    }

    func integer(_ column: String) throws -> Int64 {
        guard let value = try optionalInteger(column) else { throw corrupt(column) }
        return value
    }

    func count(_ column: String) throws -> Int32 {
        guard let value = Int32(exactly: try integer(column)) else { throw corrupt(column) }
        return value
    }

    func flag(_ column: String) throws -> Bool {
        try integer(column) != 0
    }

    func priority(_ column: String) throws -> DownloadPriority {
        guard let value = DownloadPriority(rawValue: Int(try integer(column))) else { throw corrupt(column) }
        return value
    }

    func id<Stored>(_ column: String) throws -> RowID<Stored> {
        RowID(try integer(column))
    }

    /// Null becomes nil; anything that does not parse is corrupt.
    func optional<Value>(_ column: String, _ parse: (String) -> Value?) throws -> Value? {
        guard let text = try optionalText(column) else { return nil }
        guard let value = parse(text) else { throw corrupt(column) }
        return value
    }

    func required<Value>(_ column: String, _ parse: (String) -> Value?) throws -> Value {
        guard let value = try optional(column, parse) else { throw corrupt(column) }
        return value
    }

    /// - Parameter least: The least version that is stored.
    func version<Version: WireInteger>(_ column: String, from least: Version = Version(0)) throws -> Version? {
        guard let number = try optionalInteger(column) else { return nil }
        guard let value = Version.RawValue(exactly: number), value >= least.rawValue else { throw corrupt(column) }
        return Version(value)
    }

    func requiredVersion<Version: WireInteger>(_ column: String) throws -> Version {
        guard let value: Version = try version(column) else { throw corrupt(column) }
        return value
    }

    func date(_ column: String) throws -> WireDate? {
        guard let seconds = try optionalReal(column) else { return nil }
        guard let whole = Int64(exactly: seconds.rounded(.down)) else { throw corrupt(column) }
        return WireDate(secondsSince1970: whole)
    }

    func requiredDate(_ column: String) throws -> WireDate {
        guard let value = try date(column) else { throw corrupt(column) }
        return value
    }

    /// Reads a location from the columns `urlBase` and `urlPath`.
    func location() throws -> LocalFileLocation? {
        guard let path = try optionalText("urlPath") else { return nil }
        let base = try required("urlBase", LocalFileLocation.Base.init(rawValue:))
        return LocalFileLocation(base: base, path: path)
    }
}

extension String {
    /// The stored form: SQLite truncates texts at the first NUL when it returns them, so texts with NUL are stored as
    /// blobs; see https://www.sqlite.org/nulinstr.html
    var stored: any DatabaseValueConvertible {
        utf8.contains(0) ? Data(utf8) : self
    }
}

extension WireDate {
    /// The stored form.
    var seconds: Double { Double(secondsSince1970) }
}
