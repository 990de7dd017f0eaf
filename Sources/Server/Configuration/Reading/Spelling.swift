/// Suggests the intended name for a misspelt one.
public enum Spelling {
    /// The known name that was probably intended by `name`; `nil` if none is similar enough.
    ///
    /// Letter case is ignored. Among equally similar names, one that begins with `name` is preferred. A name whose last
    /// part is right, but at the wrong depth, counts as similar.
    public static func suggestion(for name: String, among known: [String]) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars)
        let limit = max(1, min(3, wanted.count / 4))
        var best: (rank: (distance: Int, isOther: Int), name: String)?
        for candidate in known {
            let letters = Array(candidate.lowercased().unicodeScalars)
            let rank = (distance: distance(wanted, letters), isOther: letters.starts(with: wanted) ? 0 : 1)
            if rank.distance <= limit, rank < best?.rank ?? (.max, 1) { best = (rank, candidate) }
        }
        if let best { return best.name }
        let last = name.split(separator: ".").last?.lowercased()
        let namesakes = known.filter { $0.split(separator: ".").last?.lowercased() == last }
        return namesakes.count == 1 ? namesakes[0] : nil
    }

    /// The number of letters to add, remove, replace or swap with their neighbour to turn one name into the other
    /// (optimal string alignment).
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, scalar) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var cost = min(rows[i][j] + (scalar == other ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, scalar == right[j - 1], left[i - 1] == other {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
