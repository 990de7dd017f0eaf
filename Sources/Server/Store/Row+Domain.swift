package import MariaDB
package import SyncProtocol

/// A column of a row: by its name, or by its position if a statement has only a few.
package enum ColumnReference: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case name(String)
    case position(Int)

    package init(stringLiteral name: String) { self = .name(name) }
    package init(integerLiteral position: Int) { self = .position(position) }
}

// Reads columns as domain values; reports a value that cannot be decoded, by table and column, as damaged data. Methods
// that Index calls for each of its rows are always inlined, so that a known position costs nothing.
extension Row {
    package borrowing func identifier<ID: CasePreservingIdentifier>(
        _ column: ColumnReference, as type: ID.Type = ID.self
    ) throws(StoreError) -> ID {
        let column = try position(column)
        guard let text = optionalText(column), let value = ID(text) else { throw corrupt(column) }
        return value
    }

    package borrowing func optionalIdentifier<ID: CasePreservingIdentifier>(
        _ column: ColumnReference, as type: ID.Type = ID.self
    ) throws(StoreError) -> ID? {
        try isNull(column) ? nil : try identifier(column)
    }

    /// An enumeration value that the database stores as text.
    package borrowing func word<Word: RawRepresentable<String>>(
        _ column: ColumnReference, as type: Word.Type = Word.self
    ) throws(StoreError) -> Word {
        let column = try position(column)
        guard let text = optionalText(column), let value = Word(rawValue: text) else { throw corrupt(column) }
        return value
    }

    package borrowing func optionalWord<Word: RawRepresentable<String>>(
        _ column: ColumnReference, as type: Word.Type = Word.self
    ) throws(StoreError) -> Word? {
        try isNull(column) ? nil : try word(column)
    }

    package borrowing func permission(_ column: ColumnReference) throws(StoreError) -> Permission {
        let column = try position(column)
        guard let text = optionalText(column), let value = Permission(queryText: text) else { throw corrupt(column) }
        return value
    }

    package borrowing func date(_ column: ColumnReference) throws(StoreError) -> WireDate {
        let column = try position(column)
        guard let text = optionalText(column), let value = WireDate(text) else { throw corrupt(column) }
        return value
    }

    package borrowing func optionalDate(_ column: ColumnReference) throws(StoreError) -> WireDate? {
        try isNull(column) ? nil : try date(column)
    }

    @inline(__always)
    package borrowing func number(_ column: ColumnReference) throws(StoreError) -> Int64 {
        let column = try position(column)
        do { return try int(column) } catch { throw StoreError(error) }
    }

    package borrowing func optionalNumber(_ column: ColumnReference) throws(StoreError) -> Int64? {
        let column = try position(column)
        do { return try optionalInt(column) } catch { throw StoreError(error) }
    }

    @inline(__always)
    package borrowing func number32(_ column: ColumnReference) throws(StoreError) -> Int32 {
        let column = try position(column)
        guard let value = Int32(exactly: try number(.position(column))) else { throw corrupt(column) }
        return value
    }

    @inline(__always)
    package borrowing func optionalNumber32(_ column: ColumnReference) throws(StoreError) -> Int32? {
        try isNull(column) ? nil : try number32(column)
    }

    package borrowing func string(_ column: ColumnReference) throws(StoreError) -> String {
        let column = try position(column)
        do { return try text(column) } catch { throw StoreError(error) }
    }

    package borrowing func optionalString(_ column: ColumnReference) throws(StoreError) -> String? {
        optionalText(try position(column))
    }

    package borrowing func optionalData(_ column: ColumnReference) throws(StoreError) -> [UInt8]? {
        optionalBytes(try position(column))
    }

    @inline(__always)
    package borrowing func flag(_ column: ColumnReference) throws(StoreError) -> Bool {
        try number(column) != 0
    }

    @inline(__always)
    package borrowing func isNull(_ column: ColumnReference) throws(StoreError) -> Bool {
        isNull(try position(column))
    }

    /// The error for a value that cannot be decoded.
    package borrowing func corrupt(_ column: ColumnReference) throws(StoreError) -> StoreError {
        corrupt(try position(column))
    }

    private borrowing func corrupt(_ column: Int) -> StoreError {
        let origin = origin(of: column)
        return .corrupt(table: origin.table, column: origin.column)
    }

    @inline(__always)
    package borrowing func position(_ column: ColumnReference) throws(StoreError) -> Int {
        switch column {
        case .position(let position): return position
        case .name(let name): do { return try position(of: name) } catch { throw StoreError(error) }
        }
    }
}

extension Value {
    package static func date(_ date: WireDate) -> Value { .text(date.description) }
    package static func date(orNull date: WireDate?) -> Value { date.map(Value.date) ?? .null }
}

extension SQL {
    /// The types of accounts with storage, for `IN (…)`.
    package static let owningAccountTypes: SQL = "\(AccountType.allCases.filter { $0.cloudStorageType != nil })"

    /// How many digits the checksum of a file in each storage has, for a column `storage_type`.
    package static let checkSumDigits: SQL = {
        let cases = CloudStorageType.allCases.reduce("" as SQL) { cases, type in
            "\(cases) WHEN \([type]) THEN \(type.checkSumFlavour.digitCount)"
        }
        return "CASE storage_type\(cases) END"
    }()

    /// The hash under which an account is known, even after its user is removed.
    /// - Parameters:
    ///   - type: the account type.
    ///   - id: the provider's identifier of the user.
    package static func accountHash(_ type: SQL, _ id: SQL) -> SQL {
        "UNHEX(SHA2(CONCAT(\(type), ' ', \(id)), 256))"
    }
}
