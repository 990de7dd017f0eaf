/// Takes values out of a configuration file and collects everything that is wrong with it.
///
/// A setting may be nested (`{"database": {"name": …}}`) or dotted (`"database.name": …`); numbers and booleans may
/// also be given as texts, as older servers' files do.
struct ConfigurationReader {
    private var values: [String: JSONValue] = [:]
    private(set) var problems: [String] = []

    /// - Parameter root: the whole file; must be an object.
    init(_ root: JSONValue) {
        guard case .object(let members) = root else {
            problems.append("the file must hold one JSON object")
            return
        }
        flatten(members, prefix: "")
    }

    private mutating func flatten(_ members: [String: JSONValue], prefix: String) {
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let path = prefix + name
            if case .object(let inner) = value {
                flatten(inner, prefix: path + ".")
            } else if values.updateValue(value, forKey: path) != nil {
                problems.append("\(path) is given twice")
            }
        }
    }

    mutating func problem(_ sentence: String) { problems.append(sentence) }

    /// Whether anything below `prefix` is set.
    func has(prefix: String) -> Bool { values.keys.contains { $0 == prefix || $0.hasPrefix(prefix + ".") } }

    private mutating func take(_ key: String) -> JSONValue? {
        guard let value = values.removeValue(forKey: key), value != .null else { return nil }
        return value
    }

    mutating func string(_ key: String) -> String? {
        switch take(key) {
        case nil: return nil
        case .string(let text)?: return text
        default:
            problems.append("\(key) must be a text")
            return nil
        }
    }

    mutating func required(_ key: String) -> String {
        if let text = string(key) { return text }
        if !problems.contains(where: { $0.hasPrefix(key + " ") }) { problems.append("\(key) is missing") }
        return ""
    }

    mutating func bool(_ key: String, default fallback: Bool) -> Bool {
        switch take(key) {
        case nil: return fallback
        case .bool(let value)?: return value
        case .string("true")?: return true
        case .string("false")?: return false
        default:
            problems.append("\(key) must be true or false")
            return fallback
        }
    }

    /// An integer within `range`; `nil` if it is absent or wrong.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        let number: Int?
        switch take(key) {
        case nil: return nil
        case .number(let value)?: number = Int(exactly: value)
        case .string(let text)?: number = Int(text)
        default: number = nil
        }
        guard let number, range.contains(number) else {
            problems.append("\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    mutating func strings(_ key: String) -> [String] {
        switch take(key) {
        case nil: return []
        case .array(let items)?:
            let texts = items.compactMap { if case .string(let text) = $0 { text } else { nil } }
            if texts.count == items.count { return texts }
        default: break
        }
        problems.append("\(key) must be a list of texts")
        return []
    }

    /// Names every setting that nobody has asked for: a misspelt one must not be silently without effect.
    mutating func finish() -> [String] {
        for key in values.keys.sorted() { problems.append("\(key) is not a setting of this server") }
        return problems
    }
}
