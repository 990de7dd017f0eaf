/// A value with a key, kept in a ``Table``.
package protocol TableRow: Sendable, Equatable {
    /// Names the row within its table.
    associatedtype Key: Hashable & Comparable & Sendable
    /// The row's key, which never changes.
    var key: Key { get }
}

/// What became of one row.
package enum RowChange<Row: TableRow>: Sendable {
    /// The row is new, or has new values.
    case put(Row)
    /// The row is gone.
    case remove(Row.Key)
}

/// Rows by their key, which remembers what changed since it was last asked.
package struct Table<Row: TableRow>: Sendable, Equatable {
    private var rows: [Row.Key: Row] = [:]
    private var changed: Set<Row.Key> = []

    /// An empty table.
    package init() {}

    /// A table that was stored with these rows; they do not count as changed.
    package init(stored: [Row]) {
        for row in stored { rows[row.key] = row }
    }

    /// A row by its key. Setting it to nil removes it.
    package subscript(key: Row.Key) -> Row? {
        get { rows[key] }
        set {
            guard rows[key] != newValue else { return }
            rows[key] = newValue
            changed.insert(key)
        }
    }

    /// Adds a row, or gives it new values.
    package mutating func put(_ row: Row) {
        self[row.key] = row
    }

    /// Changes a row in place, if it is there.
    package mutating func update(_ key: Row.Key, _ change: (inout Row) -> Void) {
        guard var row = rows[key] else { return }
        change(&row)
        self[key] = row
    }

    /// All rows, in no particular order.
    package var all: some Collection<Row> { rows.values }

    /// All rows by ascending key.
    package var inOrder: [Row] { rows.values.sorted { $0.key < $1.key } }

    /// The rows that meet a condition, by ascending key.
    package func rows(where condition: (Row) -> Bool) -> [Row] {
        rows.values.filter(condition).sorted { $0.key < $1.key }
    }

    /// Whether there is no row.
    package var isEmpty: Bool { rows.isEmpty }

    /// How many rows there are.
    package var count: Int { rows.count }

    /// What changed since the last call, removals first, each kind by ascending key.
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
            case .put(let row): rows[row.key] = row
            case .remove(let key): rows[key] = nil
            }
        }
    }

    /// Equal if the rows are; what is still to be taken does not matter.
    package static func == (left: Self, right: Self) -> Bool {
        left.rows == right.rows
    }
}
