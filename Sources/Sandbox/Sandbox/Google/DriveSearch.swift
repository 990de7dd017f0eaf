import FoundationEssentials

/// The parameters of `files.list`, checked.
struct DriveSearch {
    let query: DriveQuery?
    let pageSize: Int
    /// The number of files on earlier pages.
    let offset: Int
    let mask: FieldMask
    private let order: [(key: String, isDescending: Bool)]
    private let fingerprint: String

    private static let orderKeys: Set<String> = [
        "createdTime", "folder", "modifiedByMeTime", "modifiedTime", "name", "name_natural", "quotaBytesUsed",
        "recency", "sharedWithMeTime", "starred", "viewedByMeTime",
    ]
    private static let defaultMask = "kind,incompleteSearch,nextPageToken,files(kind,id,name,mimeType)"

    /// Reads the parameters of a request.
    /// - Throws: ``DriveError`` 400 for the first invalid one.
    init(_ request: SandboxRequest) throws(DriveError) {
        let parameters = request.query
        query = if let text = parameters["q"], !text.isEmpty { try DriveQuery(text) } else { nil }
        let size = parameters["pageSize"].map { Int($0) ?? 0 } ?? 100
        guard (1...1000).contains(size) else {
            throw .invalid("pageSize", "Invalid value '\(size)'. Values must be within the range: [1, 1000]")
        }
        pageSize = size
        for space in (parameters["spaces"] ?? "drive").split(separator: ",") where space != "drive" {
            guard ["appDataFolder", "photos"].contains(space) else { throw .invalid("spaces") }
        }
        guard ["user", "allDrives", "domain", nil].contains(parameters["corpora"]) else { throw .invalid("corpora") }
        mask = try FieldMask(FieldMask.text(request) ?? Self.defaultMask)
        try mask.requireKnown(["kind", "incompleteSearch", "nextPageToken", "files"])
        try mask.child("files")?.requireKnown(DriveResource.fileMembers)
        var order: [(String, Bool)] = []
        for part in (parameters["orderBy"] ?? "").split(separator: ",") {
            let words = part.split(separator: " ")
            guard let key = words.first, Self.orderKeys.contains(String(key)), words.count == 1 || words[1] == "desc"
            else { throw .invalid("orderBy") }
            order.append((String(key), words.count == 2))
        }
        self.order = order
        // A token continues only the search for which it was issued.
        fingerprint = (parameters["q"] ?? "") + "\n" + (parameters["orderBy"] ?? "")
        if let token = parameters["pageToken"] {
            guard let offset = Self.offset(token, fingerprint) else { throw .invalid("pageToken") }
            self.offset = offset
        } else {
            offset = 0
        }
    }

    /// The `nextPageToken` for a page that begins after `offset` files.
    func token(offset: Int) -> String {
        "~!!~" + Data("\(offset)\n\(fingerprint)".utf8).base64EncodedString()
    }

    private static func offset(_ token: String, _ fingerprint: String) -> Int? {
        guard token.hasPrefix("~!!~"), let data = Data(base64Encoded: String(token.dropFirst(4))) else { return nil }
        let halves = String(decoding: data, as: UTF8.self).split(
            separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[1] == fingerprint else { return nil }
        return Int(halves[0])
    }

    /// Whether one file comes before the other: in the requested order, by default the newest first.
    func isOrdered(_ left: DriveFile, _ right: DriveFile) -> Bool {
        for (key, isDescending) in order {
            let comparison: Int =
                switch key {
                case "name": Self.compare(left.name, right.name)
                case "name_natural": Self.compare(left.name.lowercased(), right.name.lowercased())
                case "folder": Self.compare(left.isFolder ? 0 : 1, right.isFolder ? 0 : 1)
                case "createdTime": Self.compare(left.createdAt, right.createdAt)
                case "quotaBytesUsed": Self.compare(left.size ?? 0, right.size ?? 0)
                case "starred": Self.compare(left.isStarred ? 0 : 1, right.isStarred ? 0 : 1)
                default: Self.compare(left.modifiedAt, right.modifiedAt)
                }
            if comparison != 0 { return isDescending ? comparison > 0 : comparison < 0 }
        }
        return left.sequence > right.sequence
    }

    private static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }
}

/// The search language of the parameter `q` of `files.list` ("Search query terms and operators" of the Drive guide).
///
/// `and` and `or` are evaluated from left to right, `not` binds to the next term, and parentheses group. Names and
/// media types compare without regard to letter case, as observed by clients of the real service.
indirect enum DriveQuery: Sendable, Equatable {
    /// How two values are compared.
    enum Comparison: String, Sendable {
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case contains
    }

    case name(Comparison, String)
    case mimeType(Comparison, String)
    case time(isCreation: Bool, Comparison, Date)
    case trashed(Bool)
    case starred(Bool)
    /// In this folder; `root` names the root.
    case parent(String)
    case property(isPrivate: Bool, key: String, value: String)
    /// Owned, writable or readable by this user.
    case user(String)
    case not(DriveQuery)
    case both(DriveQuery, DriveQuery)
    case either(DriveQuery, DriveQuery)

    /// Parses `text`.
    /// - Throws: ``DriveError`` 400 `invalid`, location `q`.
    init(_ text: String) throws(DriveError) {
        var parser = try DriveQueryParser(text)
        self = try parser.whole()
    }

    /// Whether a file of `drive` matches for the user with the address `email`.
    func matches(_ file: DriveFile, in drive: Drive, email: String) -> Bool {
        switch self {
        case .name(.contains, let text): Self.hasWord(file.name, beginningWith: text)
        case .name(let comparison, let text):
            (file.name.lowercased() == text.lowercased()) == (comparison == .equal)
        case .mimeType(.contains, let text): file.mimeType.lowercased().hasPrefix(text.lowercased())
        case .mimeType(let comparison, let text):
            (file.mimeType.lowercased() == text.lowercased()) == (comparison == .equal)
        case .time(let isCreation, let comparison, let date):
            Self.compare(isCreation ? file.createdAt : file.modifiedAt, comparison, date)
        case .trashed(let value): drive.isTrashed(file) == value
        case .starred(let value): file.isStarred == value
        case .parent(let id): file.parent != nil && file.parent == (id == "root" ? drive.rootID : id)
        case .property(let isPrivate, let key, let value):
            (isPrivate ? file.appProperties : file.properties)[key] == value
        case .user(let user): user == "me" || user.lowercased() == email.lowercased()
        case .not(let query): !query.matches(file, in: drive, email: email)
        case .both(let left, let right):
            left.matches(file, in: drive, email: email) && right.matches(file, in: drive, email: email)
        case .either(let left, let right):
            left.matches(file, in: drive, email: email) || right.matches(file, in: drive, email: email)
        }
    }

    /// For names, `contains` finds only beginnings of words.
    private static func hasWord(_ name: String, beginningWith text: String) -> Bool {
        let name = name.lowercased()
        let text = text.lowercased()
        if text.isEmpty || name.hasPrefix(text) { return true }
        return name.indices.contains { index in
            index > name.startIndex && !name[name.index(before: index)].isLetter
                && !name[name.index(before: index)].isNumber && name[index...].hasPrefix(text)
        }
    }

    private static func compare(_ left: Date, _ comparison: Comparison, _ right: Date) -> Bool {
        switch comparison {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        case .contains: false
        }
    }
}

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
