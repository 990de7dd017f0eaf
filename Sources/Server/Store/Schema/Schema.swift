import MariaDB

/// The columns of the database's tables: as the migrations create them, or as a database has them.
///
/// The expected schema is read from the migrations' own text, so it cannot differ from them.
public struct Schema: Sendable, Equatable {
    /// A column, with the properties that affect the server's statements.
    public struct Column: Sendable, Equatable {
        /// In the terms of `information_schema.columns`, such as `varchar(36)`.
        public var type: String
        /// `nil` for types other than text.
        public var collation: String?
        public var isNullable: Bool
    }

    /// By `table.column`.
    public private(set) var columns: [String: Column] = [:]
    private var tables: Set<Substring> { Set(columns.keys.compactMap { $0.split(separator: ".").first }) }

    init(columns: [String: Column]) { self.columns = columns }

    /// The schema of this release.
    public static let expected = Schema(of: [MigrationRunner.bookkeeping] + Migration.all.map(\.sql))

    /// How `actual` differs from this schema, as sentences; tables that this schema does not have are ignored.
    public func differences(in actual: Schema) -> [String] {
        var sentences: [String] = []
        for (name, column) in columns.sorted(by: { $0.key < $1.key }) {
            guard let found = actual.columns[name] else {
                sentences.append("\(name) is missing")
                continue
            }
            if found.type != column.type { sentences.append("\(name) is \(found.type) instead of \(column.type)") }
            if found.collation != column.collation {
                sentences.append(
                    "\(name) has the collation \(found.collation ?? "none") instead of \(column.collation ?? "none")")
            }
            if found.isNullable != column.isNullable {
                sentences.append("\(name) \(found.isNullable ? "may" : "must not") be NULL")
            }
        }
        let tables = tables
        for name in actual.columns.keys.sorted() where columns[name] == nil {
            guard let table = name.split(separator: ".").first, tables.contains(table) else { continue }
            sentences.append("\(name) is not a column of this release")
        }
        return sentences
    }
}

// MARK: The migrations' text

extension Schema {
    /// Computes the columns that statements create in an empty database. The statements are those of our migrations:
    /// CREATE TABLE, and ADD, MODIFY and DROP COLUMN of ALTER TABLE; others change no columns. Tests compare the
    /// result with MariaDB's.
    init(of scripts: [String]) {
        columns = [:]
        var defaults: [Substring: String] = [:]
        for script in scripts {
            let lines: [Substring] = script.split(separator: "\n").map { (line: Substring) -> Substring in
                line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
            }
            let text = lines.joined(separator: " ")
            for statement in Self.parts(of: text[...], at: ";") { read(statement, &defaults) }
        }
    }

    /// - Parameter defaults: the collations that tables have for columns that name no character set.
    private mutating func read(_ statement: Substring, _ defaults: inout [Substring: String]) {
        var words = Words(statement)
        if words.take("CREATE", "TABLE") {
            _ = words.take("IF", "NOT", "EXISTS")
            let table = words.next()
            let rest = words.rest
            guard let begin = rest.firstIndex(of: "("), let end = rest.lastIndex(of: ")") else { return }
            var options = Words(rest[rest.index(after: end)...])
            while !options.isAtEnd {
                if options.take("COLLATE", "=") { defaults[table] = String(options.next()) } else { _ = options.next() }
            }
            for clause in Self.parts(of: rest[rest.index(after: begin)..<end], at: ",") {
                define(clause, in: table, defaults[table])
            }
        } else if words.take("ALTER", "TABLE") {
            let table = words.next()
            for clause in Self.parts(of: words.rest, at: ",") {
                var words = Words(clause)
                if words.take("DROP", "COLUMN") {
                    _ = words.take("IF", "EXISTS")
                    columns["\(table).\(words.next())"] = nil
                } else if words.take("ADD", "COLUMN") || words.take("MODIFY") {
                    _ = words.take("COLUMN")
                    _ = words.take("IF", "NOT", "EXISTS")
                    define(words.rest, in: table, defaults[table])
                }
            }
        }
    }

    private mutating func define(_ clause: Substring, in table: Substring, _ usualCollation: String?) {
        var words = Words(clause)
        let name = words.next()
        guard !["PRIMARY", "UNIQUE", "KEY", "INDEX", "CONSTRAINT", "FOREIGN", "CHECK"].contains(name.uppercased()),
            let (type, rest) = Self.type(in: words.rest)
        else { return }
        let isText = ["char", "varchar", "text", "mediumtext", "enum"].contains(type.prefix { $0.isLetter })
        var column = Column(type: type, collation: isText ? usualCollation : nil, isNullable: true)
        words = Words(rest)
        while !words.isAtEnd {
            if words.take("CHARACTER", "SET") {
                column.collation = nil
                _ = words.next()
            } else if words.take("COLLATE") {
                column.collation = String(words.next())
            } else if words.take("NOT", "NULL") {
                column.isNullable = false
            } else {
                _ = words.next()
            }
        }
        columns["\(table).\(name)"] = column
    }

    /// The type at the beginning of a column's definition, as `information_schema` spells it, and what follows.
    private static func type(in text: Substring) -> (type: String, rest: Substring)? {
        let text = text.drop(while: \.isWhitespace)
        let name = text.prefix { $0.isLetter }.lowercased()
        var rest = text.dropFirst(name.count)
        guard !name.isEmpty else { return nil }
        var arguments = ""
        if rest.first == "(", let end = rest.firstIndex(of: ")") {
            arguments =
                "(" + parts(of: rest[rest.index(after: rest.startIndex)..<end], at: ",").joined(separator: ",") + ")"
            rest = rest[rest.index(after: end)...]
        }
        let usual = ["bigint": "(20)", "int": "(11)", "smallint": "(6)", "tinyint": "(4)"]
        if name == "boolean" { return ("tinyint(1)", rest) }
        return (name + (arguments.isEmpty ? usual[name] ?? "" : arguments), rest)
    }

    /// The parts of a text between separators that are in neither parentheses nor quotation marks, without spaces
    /// around them.
    private static func parts(of text: Substring, at separator: Character) -> [Substring] {
        var parts: [Substring] = []
        var depth = 0
        var isQuoted = false
        var start = text.startIndex
        for index in text.indices {
            switch text[index] {
            case "'": isQuoted.toggle()
            case "(" where !isQuoted: depth += 1
            case ")" where !isQuoted: depth -= 1
            case separator where !isQuoted && depth == 0:
                parts.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        parts.append(text[start...])
        return parts.map(trimmed).filter { !$0.isEmpty }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    /// A statement word by word.
    private struct Words {
        private(set) var rest: Substring

        init(_ text: Substring) { rest = text.drop(while: \.isWhitespace) }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func next() -> Substring {
            let word = rest.prefix { !$0.isWhitespace && $0 != "(" }
            // A parenthesis is a word of its own.
            let length = max(word.count, 1)
            defer { rest = rest.dropFirst(length).drop(while: \.isWhitespace) }
            return rest.prefix(length)
        }

        /// Skips these words if they are the next ones.
        mutating func take(_ words: String...) -> Bool {
            var copy = self
            for word in words where copy.next().uppercased() != word { return false }
            self = copy
            return true
        }
    }
}

extension StoreSession {
    /// The columns that the database has.
    public mutating func schema() throws(StoreError) -> Schema {
        let columns = try all(
            """
            SELECT table_name, column_name, column_type, collation_name, is_nullable = 'YES'
              FROM information_schema.columns
             WHERE table_schema = DATABASE()
            """, []
        ) { row throws(StoreError) in
            (
                "\(try row.string(0)).\(try row.string(1))",
                Schema.Column(
                    type: try row.string(2), collation: try row.optionalString(3), isNullable: try row.flag(4))
            )
        }
        return Schema(columns: Dictionary(columns) { $1 })
    }
}
