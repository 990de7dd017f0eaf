/// Reads values from a configuration file and collects all findings about it.
///
/// A setting may be nested (`{"database": {"name": …}}`) or dotted (`"database.name": …`); numbers and booleans may
/// also be given as strings, as in older servers' files. Older names are treated like current ones.
struct ConfigurationReader {
    private struct Setting {
        /// The name in the file.
        var name: String
        var place: TextPlace
        var value: LocatedJSON
    }

    /// By the setting's current name.
    private var settings: [String: Setting] = [:]
    /// All settings of the file, including those already read.
    private var places: [String: (name: String, place: TextPlace)] = [:]
    private var findings: [ConfigurationFinding] = []
    /// Every name that was looked up, whether in the file or not.
    private(set) var asked: Set<String> = []

    /// - Parameter root: the whole file; must be an object.
    init(_ root: LocatedJSON) {
        guard case .object(let members) = root.value else {
            report(.problem, root.place, "the file must hold one JSON object")
            return
        }
        flatten(members, prefix: "")
    }

    private mutating func flatten(_ members: [LocatedJSON.Member], prefix: String) {
        for member in members {
            let path = prefix + member.name
            if SettingCatalog.sections.contains(path) {
                switch member.value.value {
                case .object(let inner): flatten(inner, prefix: path + ".")
                case .null: break
                default: report(.problem, member.value.place, "\(path) must be an object")
                }
            } else if let reason = SettingCatalog.withoutEffect[path] {
                report(.note, member.place, "\(path) is a setting of SyncServerII and has no effect: \(reason)")
            } else if SettingCatalog.all.contains(path) {
                add(Setting(name: path, place: member.place, value: member.value))
            } else {
                reportUnknown(path, at: member.place)
            }
        }
    }

    private mutating func add(_ setting: Setting) {
        if case .null = setting.value.value { return }
        let key = SettingCatalog.olderNames[setting.name] ?? setting.name
        if let other = places[key] {
            let what = other.name == setting.name ? "is given twice" : "means the same as \(other.name)"
            report(.problem, setting.place, "\(setting.name) \(what); the other one is in \(other.place)")
            return
        }
        places[key] = (setting.name, setting.place)
        settings[key] = setting
    }

    private mutating func reportUnknown(_ path: String, at place: TextPlace) {
        let known = SettingCatalog.all.union(SettingCatalog.sections).sorted()
        let hint = Spelling.suggestion(for: path, among: known).map { "; did you mean \($0)?" } ?? ""
        report(.problem, place, "\(path) is not a setting of this server\(hint)")
    }

    // MARK: Findings

    /// Adds a finding.
    /// - Parameter key: the setting in question, by its current name; the finding gets its place.
    mutating func report(_ kind: ConfigurationFinding.Kind, _ sentence: String, at key: String?) {
        report(kind, key.flatMap { places[$0]?.place }, sentence)
    }

    mutating func problem(_ sentence: String, at key: String? = nil) { report(.problem, sentence, at: key) }

    private mutating func report(_ kind: ConfigurationFinding.Kind, _ place: TextPlace?, _ sentence: String) {
        findings.append(ConfigurationFinding(kind: kind, place: place, sentence: sentence))
    }

    var problems: [ConfigurationFinding] { sorted { $0.kind == .problem } }
    /// Warnings, then notes.
    var notes: [ConfigurationFinding] { sorted { $0.kind == .warning } + sorted { $0.kind == .note } }

    /// In the file's order; findings without a place are last.
    private func sorted(_ isWanted: (ConfigurationFinding) -> Bool) -> [ConfigurationFinding] {
        let wanted = findings.filter(isWanted)
        let placed = wanted.compactMap { finding in finding.place.map { (place: $0, finding) } }
        return placed.sorted { $0.place < $1.place }.map(\.1) + wanted.filter { $0.place == nil }
    }

    // MARK: Settings

    /// The file's name for a setting: its own name, or an older one.
    func name(of key: String) -> String { places[key]?.name ?? key }

    /// The name to report for a missing setting: an older server's name if the file uses such names for the database.
    func nameIfMissing(_ key: String) -> String {
        let used = Set(places.values.compactMap { $0.name.split(separator: ".").first })
        return SettingCatalog.olderNames.first { older, ours in
            ours == key && older.contains(".") && used.contains(older.prefix { $0 != "." })
        }?.key ?? key
    }

    /// Whether the file has this setting, or anything below it.
    func has(prefix: String) -> Bool { places.keys.contains { $0 == prefix || $0.hasPrefix(prefix + ".") } }

    private mutating func take(_ key: String) -> Setting? {
        assert(SettingCatalog.all.contains(key), "\(key) is missing in SettingCatalog")
        asked.insert(key)
        return settings.removeValue(forKey: key)
    }

    private mutating func reject(_ setting: Setting, _ expectation: String) {
        report(.problem, setting.value.place, "\(setting.name) must be \(expectation)")
    }

    mutating func string(_ key: String) -> String? {
        guard let setting = take(key) else { return nil }
        if case .string(let text) = setting.value.value { return text }
        reject(setting, "a string, in quotation marks")
        return nil
    }

    /// A string that is present and not empty; an empty one after a problem.
    mutating func required(_ key: String) -> String {
        let isThere = settings[key] != nil
        guard let text = string(key) else {
            if !isThere { problem("\(nameIfMissing(key)) is missing") }
            return ""
        }
        if text.isEmpty { problem("\(name(of: key)) must not be empty", at: key) }
        return text
    }

    mutating func bool(_ key: String, default fallback: Bool) -> Bool {
        guard let setting = take(key) else { return fallback }
        switch setting.value.value {
        case .bool(let value): return value
        case .string("true"): return true
        case .string("false"): return false
        default:
            reject(setting, "true or false")
            return fallback
        }
    }

    /// An integer within `range`; `nil` if it is absent or wrong.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let setting = take(key) else { return nil }
        var number: Int?
        switch setting.value.value {
        case .number(let text): number = Int(text) ?? Double(text).flatMap { Int(exactly: $0) }
        case .string(let text): number = Int(text)
        default: break
        }
        guard let number, range.contains(number) else {
            reject(setting, "a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    mutating func strings(_ key: String) -> [String] {
        guard let setting = take(key) else { return [] }
        if case .array(let items) = setting.value.value {
            let texts = items.compactMap { if case .string(let text) = $0.value { text } else { nil } }
            if texts.count == items.count { return texts }
        }
        reject(setting, "a list of strings")
        return []
    }
}
