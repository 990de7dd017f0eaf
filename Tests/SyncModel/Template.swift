/// A received JSON value.
package enum Message: Hashable, Sendable, CustomStringConvertible {
    case integer(Int)
    case text(String)
    case flag(Bool)
    case list([Message])
    case object([String: Message])
    /// A kind of value that does not occur in replies.
    case other

    package var description: String {
        switch self {
        case .integer(let number): "\(number)"
        case .text(let text): "\"\(text)\""
        case .flag(let flag): "\(flag)"
        case .list(let elements): "\(elements)"
        case .object(let members):
            "{\(members.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", "))}"
        case .other: "?"
        }
    }

    /// The member of an object.
    package subscript(name: String) -> Message? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}

/// A pattern for a JSON value.
package indirect enum Template: Equatable, Sendable, CustomStringConvertible {
    case integer(Int)
    case text(String)
    case flag(Bool)
    /// The server's choice, the same everywhere.
    case chosen(Choice)
    /// No such member.
    case absent
    /// Any of these constants.
    case oneOf([Template])
    /// These members, and possibly others that this model does not know.
    case object([String: Template])
    /// These elements in any order; `by` names a text member that distinguishes them.
    case list([Template], by: String)
    /// These elements, and possibly others.
    case including([Template], by: String)

    package var description: String {
        switch self {
        case .integer(let number): "\(number)"
        case .text(let text): "\"\(text)\""
        case .flag(let flag): "\(flag)"
        case .chosen(let choice): "<\(choice)>"
        case .absent: "absent"
        case .oneOf(let templates): templates.map(\.description).joined(separator: " or ")
        case .object(let members):
            "{\(members.filter { $0.value != .absent }.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", "))}"
        case .list(let elements, _): "\(elements)"
        case .including(let elements, _): "\(elements) and perhaps others"
        }
    }

    /// The text, or nothing.
    static func optional(_ text: String?) -> Template { text.map(Template.text) ?? .absent }
    /// The number, or nothing.
    static func optional(_ number: Int?) -> Template { number.map(Template.integer) ?? .absent }
    /// The choice, or nothing.
    static func optional(_ choice: Choice?) -> Template { choice.map(Template.chosen) ?? .absent }

    /// Compares a value with the pattern, and records the server's choices in `lesson`.
    /// - Returns: the differences, one sentence each; empty if the value matches.
    func differences(from value: Message?, at path: String = "", _ lesson: inout Lesson) -> [String] {
        switch (self, value) {
        case (.absent, nil): return []
        case (.oneOf(let templates), let value):
            let differences = templates.map { $0.differences(from: value, at: path, &lesson) }
            return differences.first(where: \.isEmpty) ?? differences.first ?? []
        case (.integer(let number), .integer(let other)?) where number == other: return []
        case (.text(let text), .text(let other)?) where text == other: return []
        case (.flag(let flag), .flag(let other)?) where flag == other: return []
        case (.chosen(let choice), let value?) where lesson.note(value, as: choice): return []
        case (.object(let members), .object(let values)?):
            return members.sorted { $0.key < $1.key }.flatMap { name, template in
                template.differences(from: values[name], at: "\(path)/\(name)", &lesson)
            }
        case (.list(let elements, let name), .list(let values)?):
            let found = Self.differences(of: elements, from: values, by: name, at: path, &lesson)
            return found.differences + found.others.map { "\(path): has an unexpected \($0)" }
        case (.including(let elements, let name), .list(let values)?):
            return Self.differences(of: elements, from: values, by: name, at: path, &lesson).differences
        default:
            return ["\(path): must be \(self), but is \(value.map { "\($0)" } ?? "absent")"]
        }
    }

    private static func differences(
        of elements: [Template], from values: [Message], by name: String, at path: String, _ lesson: inout Lesson
    ) -> (differences: [String], others: [Message]) {
        var rest = values
        var found: [String] = []
        for element in elements {
            guard case .object(let members) = element, case .text(let key)? = members[name] else {
                return (["\(path): the model's element has no text \(name)"], [])
            }
            guard let index = rest.firstIndex(where: { $0[name] == .text(key) }) else {
                found.append("\(path)/\(key): is missing")
                continue
            }
            found += element.differences(from: rest.remove(at: index), at: "\(path)/\(key)", &lesson)
        }
        return (found, rest)
    }
}
