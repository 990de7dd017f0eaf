/// Changes single settings in a configuration's text, as `syncctl setup` does; the rest of the text stays unchanged.
public struct ConfigurationEdit: Sendable {
    /// Why the text can only be changed by hand, as a sentence.
    public struct Unsuitable: Error, CustomStringConvertible {
        public var description: String
    }

    /// A setting as found in the text: under its own name or an older one, nested or with a dot.
    private struct Found {
        var member: LocatedJSON.Member
        /// Whether it is in an object of the root.
        var isNested: Bool
    }

    public private(set) var text: String
    private var members: [LocatedJSON.Member]

    /// - Throws: ``Unsuitable`` if the text is not a JSON object.
    public init(of text: String) throws(Unsuitable) {
        self.text = text
        members = try Self.rootMembers(of: text)
    }

    /// Whether the text has a setting or a section of this name, even if its value is `null`.
    public func has(_ key: String) -> Bool { members.contains { $0.name == key } || find([key]) != nil }

    /// The value of a setting that is a text; `nil` if it is missing or not a text.
    public func string(_ key: String) -> String? {
        if case .string(let value)? = find([key])?.member.value.value { value } else { nil }
    }

    /// Sets one setting: replaces its value in place, or adds it at the end of its section.
    ///
    /// A key that names a secret's file replaces the secret itself, and any key replaces its older names.
    /// - Parameters:
    ///   - key: with at most one dot, between an object and its member.
    ///   - json: the value, in JSON on one line.
    /// - Throws: ``Unsuitable`` if the key's section is not an object.
    public mutating func set(_ key: String, toJSON json: String) throws(Unsuitable) {
        let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
        if let found = find(Self.names(meaning: key)) {
            let value = found.member.value
            let name = found.isNested ? parts[parts.count - 1] : key
            if found.member.name == name {
                try replace(value.extent, by: json)
            } else {
                try replace(found.member.start..<value.extent.upperBound, by: "\"\(name)\": \(json)")
            }
            return
        }
        guard parts.count == 2 else { return try insert("\"\(key)\": \(json)", after: members, in: rootStart) }
        guard let section = members.first(where: { $0.name == parts[0] }) else {
            return try insert("\"\(parts[0])\": {\"\(parts[1])\": \(json)}", after: members, in: rootStart)
        }
        switch section.value.value {
        case .object(let inner):
            try insert("\"\(parts[1])\": \(json)", after: inner, in: section.value.extent.lowerBound)
        case .null: try replace(section.value.extent, by: "{\"\(parts[1])\": \(json)}")
        default: throw Unsuitable(description: "\(section.place): \(parts[0]) must be an object")
        }
    }

    // MARK: Finding

    /// The first setting that has one of these names.
    private func find(_ names: [String]) -> Found? {
        for member in members {
            if names.contains(member.name) { return Found(member: member, isNested: false) }
            guard case .object(let inner) = member.value.value else { continue }
            if let nested = inner.first(where: { names.contains("\(member.name).\($0.name)") }) {
                return Found(member: nested, isNested: true)
            }
        }
        return nil
    }

    /// The key itself, its synonyms, and the keys that exclude it.
    private static func names(meaning key: String) -> [String] {
        let own = key.hasSuffix("File") ? [key, String(key.dropLast(4))] : [key]
        return own + SettingCatalog.olderNames.filter { own.contains($0.value) }.map(\.key)
    }

    // MARK: Changing

    /// The position of the root's brace, preceded only by spaces and a byte order mark.
    private var rootStart: Int { Array(text.unicodeScalars).firstIndex(of: "{") ?? 0 }

    /// Adds a member at the end of the object that begins at `start`, on a separate line if the last member has one.
    private mutating func insert(
        _ member: String, after others: [LocatedJSON.Member], in start: Int
    ) throws(Unsuitable) {
        guard let last = others.last else {
            let isRoot = start == rootStart
            return try replace(start + 1..<start + 1, by: isRoot ? "\n  \(member)\n" : member)
        }
        let scalars = Array(text.unicodeScalars)
        let line = scalars[..<last.start].lastIndex(of: "\n").map { $0 + 1 } ?? 0
        let indentation = scalars[line..<last.start]
        let isAlone = line > start && indentation.allSatisfy { $0 == " " || $0 == "\t" }
        let end = last.value.extent.upperBound
        var separator = ", "
        if isAlone {
            separator = ",\n"
            separator.unicodeScalars.append(contentsOf: indentation)
        }
        try replace(end..<end, by: separator + member)
    }

    private mutating func replace(_ range: Range<Int>, by replacement: String) throws(Unsuitable) {
        var scalars = Array(text.unicodeScalars)
        scalars.replaceSubrange(range, with: replacement.unicodeScalars)
        var result = String.UnicodeScalarView()
        result.append(contentsOf: scalars)
        text = String(result)
        members = try Self.rootMembers(of: text)
    }

    /// The members of a configuration's root object.
    static func rootMembers(of text: String) throws(Unsuitable) -> [LocatedJSON.Member] {
        let root: LocatedJSON
        do { root = try LocatedJSONParser.parse(Array(text.utf8)) } catch {
            throw Unsuitable(description: "\(error.place): \(error.sentence)")
        }
        guard case .object(let members) = root.value else {
            throw Unsuitable(description: "the file must hold one JSON object")
        }
        return members
    }
}
