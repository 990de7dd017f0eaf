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
        // Removed from the dictionary, so that it is modified in place.
        var sorted = keys.removeValue(forKey: indexKey) ?? []
        if let last = sorted.last, key < last {
            sorted.insert(key, at: Self.position(after: key, in: sorted))
        } else {
            sorted.append(key)
        }
        keys[indexKey] = sorted
    }

    private mutating func remove(_ key: Row.Key, at indexKey: Row.IndexKey) {
        guard var sorted = keys.removeValue(forKey: indexKey) else { return }
        let position = Self.position(after: key, in: sorted) - 1
        if position >= 0, sorted[position] == key { sorted.remove(at: position) }
        if !sorted.isEmpty { keys[indexKey] = sorted }
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
