/// A value with a key, kept in a ``Table``.
package protocol TableRow: Sendable, Equatable {
    /// Identifies the row within its table.
    associatedtype Key: Hashable & Comparable & Sendable
    /// Identifies rows that are looked up together.
    associatedtype IndexKey: Hashable & Sendable = Never
    /// The row's key, which never changes.
    var key: Key { get }
    /// The index keys under which the row is found without a scan of all rows; without duplicates.
    var indexKeys: [IndexKey] { get }
}

extension TableRow where IndexKey == Never {
    package var indexKeys: [Never] { [] }
}

/// A change to one row.
package enum RowChange<Row: TableRow>: Sendable {
    /// The row is new, or has new values.
    case put(Row)
    /// The row was removed.
    case remove(Row.Key)
}

/// Rows by their key; tracks the changes since the last call of ``takeChanges()``.
///
/// Queries that run after each request of a sync use indexes, so that their time does not grow with the table.
package struct Table<Row: TableRow>: Sendable, Equatable {
    private var rows: [Row.Key: Row] = [:]
    private var index = TableIndex<Row>()
    private var changed: Set<Row.Key> = []

    /// An empty table.
    package init() {}

    /// A table with stored rows; they do not count as changed.
    package init(stored: [Row]) {
        rows.reserveCapacity(stored.count)
        for row in stored { write(row) }
    }

    /// Writes a row that does not count as changed.
    private mutating func write(_ row: Row) {
        index.replace(row.key, rows.updateValue(row, forKey: row.key), with: row)
    }

    private mutating func replace(_ key: Row.Key, _ old: Row?, with row: Row?) {
        guard old != row else { return }
        rows[key] = row
        index.replace(key, old, with: row)
        changed.insert(key)
    }

    /// A row by its key. Setting it to nil removes it.
    package subscript(key: Row.Key) -> Row? {
        get { rows[key] }
        set { replace(key, rows[key], with: newValue) }
    }

    /// Inserts or updates a row.
    package mutating func put(_ row: Row) {
        self[row.key] = row
    }

    /// Changes a row in place, if it exists.
    package mutating func update(_ key: Row.Key, _ change: (inout Row) -> Void) {
        guard let old = rows[key] else { return }
        var row = old
        change(&row)
        replace(key, old, with: row)
    }

    /// All rows, in any order.
    package var all: some Collection<Row> { rows.values }

    /// All rows by ascending key.
    package var inOrder: [Row] { rows.values.sorted { $0.key < $1.key } }

    /// The rows that meet a condition, by ascending key.
    package func rows(where condition: (Row) -> Bool) -> [Row] {
        rows.values.filter(condition).sorted { $0.key < $1.key }
    }

    /// The rows for an index key, by ascending key.
    package func rows(at indexKey: Row.IndexKey) -> [Row] {
        index.keys(at: indexKey).compactMap { rows[$0] }
    }

    /// The row with the smallest key for an index key, or with the smallest one after another key.
    package func first(at indexKey: Row.IndexKey, after key: Row.Key? = nil) -> Row? {
        index.firstKey(at: indexKey, after: key).flatMap { rows[$0] }
    }

    /// Whether there is a row for an index key.
    package func contains(at indexKey: Row.IndexKey) -> Bool {
        index.firstKey(at: indexKey, after: nil) != nil
    }

    /// The number of rows for an index key.
    package func count(at indexKey: Row.IndexKey) -> Int { index.keys(at: indexKey).count }

    /// Whether there are no rows.
    package var isEmpty: Bool { rows.isEmpty }

    /// The number of rows.
    package var count: Int { rows.count }

    /// Returns what changed since the last call, removals first, each kind by ascending key.
    package mutating func takeChanges() -> [RowChange<Row>] {
        guard !changed.isEmpty else { return [] }
        let keys = changed.sorted()
        changed.removeAll(keepingCapacity: true)
        return keys.filter { rows[$0] == nil }.map(RowChange.remove) + keys.compactMap { rows[$0].map(RowChange.put) }
    }

    /// Applies changes that were taken from another table.
    package mutating func apply(_ changes: [RowChange<Row>]) {
        for change in changes {
            switch change {
            case .put(let row): write(row)
            case .remove(let key): index.replace(key, rows.removeValue(forKey: key), with: nil)
            }
        }
    }

    /// Equal if the rows are; changes that have not been taken yet do not matter.
    package static func == (left: Self, right: Self) -> Bool {
        left.rows == right.rows
    }
}

/// The keys of a table's rows for each of their index keys, ascending.
///
/// Most rows are added with the greatest key and removed with the smallest, which moves few or no keys.
struct TableIndex<Row: TableRow>: Sendable {
    private var keys: [Row.IndexKey: [Row.Key]] = [:]

    /// Updates the index for a row that was added, changed or removed.
    mutating func replace(_ key: Row.Key, _ old: Row?, with new: Row?) {
        let before = old?.indexKeys ?? []
        let after = new?.indexKeys ?? []
        for indexKey in before where !after.contains(indexKey) { remove(key, at: indexKey) }
        for indexKey in after where !before.contains(indexKey) { insert(key, at: indexKey) }
    }

    /// The keys for an index key, ascending.
    func keys(at indexKey: Row.IndexKey) -> [Row.Key] {
        keys[indexKey] ?? []
    }

    /// The smallest key for an index key, optionally greater than another key.
    func firstKey(at indexKey: Row.IndexKey, after key: Row.Key?) -> Row.Key? {
        guard let found = keys[indexKey] else { return nil }
        guard let key else { return found.first }
        let position = Self.position(after: key, in: found)
        return position < found.endIndex ? found[position] : nil
    }

    private mutating func insert(_ key: Row.Key, at indexKey: Row.IndexKey) {
        Self.insert(key, into: &keys[indexKey, default: []])
    }

    private static func insert(_ key: Row.Key, into sorted: inout [Row.Key]) {
        if let last = sorted.last, key < last {
            sorted.insert(key, at: position(after: key, in: sorted))
        } else {
            sorted.append(key)
        }
    }

    private mutating func remove(_ key: Row.Key, at indexKey: Row.IndexKey) {
        guard let place = keys.index(forKey: indexKey) else { return }
        Self.remove(key, from: &keys.values[place])
        if keys.values[place].isEmpty { keys.remove(at: place) }
    }

    private static func remove(_ key: Row.Key, from sorted: inout [Row.Key]) {
        let place = position(after: key, in: sorted) - 1
        if place >= 0, sorted[place] == key { sorted.remove(at: place) }
    }

    /// The position of the first key that is greater than `key`.
    private static func position(after key: Row.Key, in sorted: [Row.Key]) -> Int {
        var low = sorted.startIndex
        var high = sorted.endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if key < sorted[middle] {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }
}

/// The key of a row, assigned by the store; increases with each row, and is never reused.
package struct RowID<Row>: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number, from 1.
    package let rawValue: Int64

    /// Creates an id from its number.
    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The older row sorts first.
    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    package var description: String { rawValue.description }
}
