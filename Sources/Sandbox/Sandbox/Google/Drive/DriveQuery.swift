internal import FoundationEssentials

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
