internal import MariaDB
internal import SyncProtocol

// Reads columns as domain values; a value that cannot be decoded is damaged data, reported by table and column.
extension Row {
    borrowing func identifier<ID: CasePreservingIdentifier>(
        _ column: Int, as type: ID.Type = ID.self, _ table: String, _ name: String
    ) throws(StoreError) -> ID {
        guard let text = optionalText(column), let value = ID(text) else {
            throw .corrupt(table: table, column: name)
        }
        return value
    }

    borrowing func optionalIdentifier<ID: CasePreservingIdentifier>(
        _ column: Int, as type: ID.Type = ID.self, _ table: String, _ name: String
    ) throws(StoreError) -> ID? {
        guard !isNull(column) else { return nil }
        return try identifier(column, table, name)
    }

    /// An enumeration value that the database stores as text.
    borrowing func word<Word: RawRepresentable<String>>(
        _ column: Int, as type: Word.Type = Word.self, _ table: String, _ name: String
    ) throws(StoreError) -> Word {
        guard let text = optionalText(column), let value = Word(rawValue: text) else {
            throw .corrupt(table: table, column: name)
        }
        return value
    }

    borrowing func optionalWord<Word: RawRepresentable<String>>(
        _ column: Int, as type: Word.Type = Word.self, _ table: String, _ name: String
    ) throws(StoreError) -> Word? {
        guard !isNull(column) else { return nil }
        return try word(column, table, name)
    }

    borrowing func date(_ column: Int, _ table: String, _ name: String) throws(StoreError) -> WireDate {
        guard let text = optionalText(column), let value = WireDate(text) else {
            throw .corrupt(table: table, column: name)
        }
        return value
    }

    borrowing func number(_ column: Int) throws(StoreError) -> Int64 {
        do { return try int(column) } catch { throw StoreError(error) }
    }

    borrowing func optionalNumber(_ column: Int) throws(StoreError) -> Int64? {
        do { return try optionalInt(column) } catch { throw StoreError(error) }
    }

    borrowing func number32(_ column: Int, _ table: String, _ name: String) throws(StoreError) -> Int32 {
        guard let value = Int32(exactly: try number(column)) else { throw .corrupt(table: table, column: name) }
        return value
    }

    borrowing func string(_ column: Int) throws(StoreError) -> String {
        do { return try text(column) } catch { throw StoreError(error) }
    }

    borrowing func flag(_ column: Int) throws(StoreError) -> Bool {
        try number(column) != 0
    }
}

extension Value {
    static func date(_ date: WireDate) -> Value { .text(date.description) }
    static func date(orNull date: WireDate?) -> Value { date.map(Value.date) ?? .null }
}
