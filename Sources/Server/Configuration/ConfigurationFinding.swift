/// Something that an operator should know about a configuration file.
public struct ConfigurationFinding: Sendable, Equatable {
    public enum Kind: Sendable {
        /// The server does not start.
        case problem
        /// The server starts, but somebody should fix the problem.
        case warning
        /// Information only.
        case note
    }

    public var kind: Kind
    /// The position; `nil` if the finding is about something missing.
    public var place: TextPlace?
    /// Names the setting; contains no secret.
    public var sentence: String
}

extension ConfigurationFinding: CustomStringConvertible {
    public var description: String { place.map { "\($0): \(sentence)" } ?? sentence }
}

/// Everything that is wrong with a configuration file.
public struct ConfigurationError: Error, CustomStringConvertible {
    public var path: String
    /// Problems, in the order of the file, then those without a place; never empty.
    public var problems: [ConfigurationFinding]
    /// Other findings about the file: warnings and notes.
    public var notes: [ConfigurationFinding]
    /// Whether this process was not permitted to read the file or a secret, whose contents then remain unchecked.
    public var isDenied: Bool

    /// - Parameter problems: at least one.
    public init(
        path: String, problems: [ConfigurationFinding], notes: [ConfigurationFinding] = [], isDenied: Bool = false
    ) {
        self.path = path
        self.problems = problems
        self.notes = notes
        self.isDenied = isDenied
    }

    /// An error about problems that have no place in the file.
    public init(path: String, problems: [String]) {
        self.init(path: path, problems: problems.map { ConfigurationFinding(kind: .problem, sentence: $0) })
    }

    /// The problems as sentences for the operator; they contain no secret.
    public var description: String {
        "\(path):\n" + problems.map { "  - \($0)" }.joined(separator: "\n")
    }
}

/// A position in a text file.
public struct TextPlace: Sendable, Hashable {
    /// From 1.
    public var line: Int
    /// In characters (Unicode scalars), from 1.
    public var column: Int

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

extension TextPlace: Comparable, CustomStringConvertible {
    public static func < (left: TextPlace, right: TextPlace) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    public var description: String { "line \(line), column \(column)" }
}

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
