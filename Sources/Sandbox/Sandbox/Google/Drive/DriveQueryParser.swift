internal import FoundationEssentials

/// Parses ``DriveQuery`` from text.
struct DriveQueryParser {
    private enum Token: Equatable {
        case word(String)
        case text(String)
        case symbol(String)
    }

    private var tokens: [Token]
    private var depth = 0
    private static let failure = DriveError.invalid("q")

    /// Splits the text into words, quoted texts and symbols.
    ///
    /// Works scalar by scalar: a quote followed by a combining accent is one `Character`, but still a quote.
    init(_ text: String) throws(DriveError) {
        var tokens: [Token] = []
        var rest = Substring(text).unicodeScalars
        while let first = rest.first {
            switch first {
            case " ", "\t", "\n", "\r": rest.removeFirst()
            case "'":
                rest.removeFirst()
                tokens.append(.text(try Self.quoted(&rest)))
            case "(", ")", "{", "}", "=":
                rest.removeFirst()
                tokens.append(.symbol(String(first)))
            case "<", ">", "!":
                rest.removeFirst()
                var symbol = String(first)
                if rest.first == "=" { symbol.unicodeScalars.append(rest.removeFirst()) }
                guard symbol != "!" else { throw Self.failure }
                tokens.append(.symbol(symbol))
            case let letter where letter.properties.isAlphabetic:
                let word = rest.prefix { $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_" }
                rest = rest[word.endIndex...]
                tokens.append(.word(String(word)))
            default: throw Self.failure
            }
        }
        self.tokens = tokens.reversed()
    }

    /// The text up to the closing quote; the only escapes inside are `\'` and `\\`.
    private static func quoted(_ rest: inout Substring.UnicodeScalarView) throws(DriveError) -> String {
        var text = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            switch next {
            case "'": return String(text)
            case "\\":
                guard let escaped = rest.popFirst(), escaped == "'" || escaped == "\\" else { throw failure }
                text.append(escaped)
            default: text.append(next)
            }
        }
        throw failure
    }

    /// The whole query.
    mutating func whole() throws(DriveError) -> DriveQuery {
        let query = try expression()
        guard tokens.isEmpty else { throw Self.failure }
        return query
    }

    private mutating func next() throws(DriveError) -> Token {
        guard let token = tokens.popLast() else { throw Self.failure }
        return token
    }

    private mutating func expect(_ symbol: String) throws(DriveError) {
        guard try next() == .symbol(symbol) else { throw Self.failure }
    }

    private mutating func expression() throws(DriveError) -> DriveQuery {
        depth += 1
        defer { depth -= 1 }
        guard depth < 32 else { throw Self.failure }
        var left = try factor()
        while case .word(let word)? = tokens.last, word == "and" || word == "or" {
            tokens.removeLast()
            let right = try factor()
            left = word == "and" ? .both(left, right) : .either(left, right)
        }
        return left
    }

    private mutating func factor() throws(DriveError) -> DriveQuery {
        switch try next() {
        case .word("not"): return .not(try factor())
        case .symbol("("):
            let query = try expression()
            try expect(")")
            return query
        case .text(let value):
            guard try next() == .word("in"), case .word(let collection) = try next() else { throw Self.failure }
            switch collection {
            case "parents": return .parent(value)
            case "owners", "writers", "readers": return .user(value)
            default: throw Self.failure
            }
        case .word(let field): return try term(field)
        case .symbol: throw Self.failure
        }
    }

    private mutating func term(_ field: String) throws(DriveError) -> DriveQuery {
        if field == "properties" || field == "appProperties" {
            return try property(isPrivate: field == "appProperties")
        }
        let comparison = try comparison()
        switch field {
        case "name", "mimeType", "fullText":
            guard case .text(let value) = try next(), [.equal, .notEqual, .contains].contains(comparison),
                field != "fullText" || comparison == .contains
            else { throw Self.failure }
            return field == "mimeType" ? .mimeType(comparison, value) : .name(comparison, value)
        case "trashed", "starred", "sharedWithMe":
            guard case .word(let value) = try next(), value == "true" || value == "false",
                comparison == .equal || comparison == .notEqual
            else { throw Self.failure }
            let isWanted = (value == "true") == (comparison == .equal)
            switch field {
            case "trashed": return .trashed(isWanted)
            case "starred": return .starred(isWanted)
            // Nothing is ever shared with a sandbox user.
            default: return isWanted ? .not(.user("me")) : .user("me")
            }
        case "modifiedTime", "createdTime", "viewedByMeTime":
            guard case .text(let value) = try next(), comparison != .contains, let date = Date(text: value) else {
                throw Self.failure
            }
            return .time(isCreation: field == "createdTime", comparison, date)
        default: throw Self.failure
        }
    }

    private mutating func comparison() throws(DriveError) -> DriveQuery.Comparison {
        let text: String
        switch try next() {
        case .symbol(let symbol): text = symbol
        case .word(let word): text = word
        case .text: throw Self.failure
        }
        guard let comparison = DriveQuery.Comparison(rawValue: text) else { throw Self.failure }
        return comparison
    }

    /// `has { key='…' and value='…' }`
    private mutating func property(isPrivate: Bool) throws(DriveError) -> DriveQuery {
        guard try next() == .word("has") else { throw Self.failure }
        try expect("{")
        guard try next() == .word("key") else { throw Self.failure }
        try expect("=")
        guard case .text(let key) = try next(), try next() == .word("and"), try next() == .word("value") else {
            throw Self.failure
        }
        try expect("=")
        guard case .text(let value) = try next() else { throw Self.failure }
        try expect("}")
        return .property(isPrivate: isPrivate, key: key, value: value)
    }
}
