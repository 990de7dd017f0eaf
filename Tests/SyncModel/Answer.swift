/// The bytes of a file version, with their checksum for each kind of storage.
package struct Content: Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    /// The checksums by the storage's name on the wire.
    package let checkSums: [String: String]

    /// Creates a content from bytes and the checksums that phones compute.
    package init(bytes: [UInt8], checkSums: [String: String]) {
        self.bytes = bytes
        self.checkSums = checkSums
    }

    package var description: String { "\(bytes.count) bytes" }
}

extension Content: Hashable {
    package static func == (left: Content, right: Content) -> Bool { left.bytes == right.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// The reply that the server must send.
package enum Answer: Equatable, Sendable, CustomStringConvertible {
    /// 200 with this message.
    case success(Template)
    /// 200 with this message and these bytes.
    case file(Content, Template)
    /// Any of these errors: if a request has several mistakes, the protocol does not always specify which is reported.
    case refused([Refusal])

    package var description: String {
        switch self {
        case .success(let template): "200 \(template)"
        case .file(let content, let template): "200 \(template) + \(content)"
        case .refused(let refusals): refusals.map(\.description).joined(separator: " or ")
        }
    }

    /// 200 with an empty message.
    static let done = Answer.success(.object([:]))
    /// 200, but the client's master version is outdated.
    static func stale(_ current: Int) -> Answer { .success(.object(["masterVersionUpdate": .integer(current)])) }
    /// Whether the answer reports a stale master version.
    var isStale: Bool {
        if case .success(.object(let members)) = self { members["masterVersionUpdate"] != nil } else { false }
    }
    /// Whether the request was accepted.
    var isAcceptance: Bool {
        if case .refused = self { false } else { !isStale }
    }
}

/// The reply that the server sent.
package enum Reply: Equatable, Sendable, CustomStringConvertible {
    /// 200 with a message, and for DownloadFile the bytes.
    case success(Message, bytes: [UInt8] = [])
    /// An error.
    case refused(Refusal)

    package var description: String {
        switch self {
        case .success(let message, let bytes): "200 \(message)\(bytes.isEmpty ? "" : " + \(bytes.count) bytes")"
        case .refused(let refusal): "\(refusal)"
        }
    }
}

extension Answer {
    /// Compares the answer with `reply`; empty if they agree.
    func differences(from reply: Reply, _ lesson: inout Lesson) -> [String] {
        switch (self, reply) {
        case (.success(let template), .success(let message, _)):
            if !isStale, let current = message["masterVersionUpdate"] {
                return ["must not be stale, but reports master version \(current)"]
            }
            return template.differences(from: message, &lesson)
        case (.file(let content, let template), .success(let message, let bytes)):
            return (content.bytes == bytes ? [] : ["must contain \(content), but contains \(bytes.count) other bytes"])
                + template.differences(from: message, &lesson)
        case (.refused(let refusals), .refused(let refusal)) where refusals.contains(refusal): return []
        default: return ["must be \(self), but is \(reply)"]
        }
    }
}

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

/// A value that the server chooses and a client learns from a reply. The model only requires that it is the same
/// everywhere.
package enum Choice: Hashable, Sendable, CustomStringConvertible {
    /// The id of the user who signed up with the request of this number; no reply has contained it yet.
    case user(Int)
    /// The second in which the request of this number staged a change; no reply has contained it yet.
    case time(Int)
    /// The code of the invitation that the request of this number created; no reply has contained it yet.
    case invitation(Int)
    /// The value, known from a reply.
    case told(Message)

    package var description: String {
        switch self {
        case .user(let number): "user of request \(number)"
        case .time(let number): "second of request \(number)"
        case .invitation(let number): "code of request \(number)"
        case .told(let value): "\(value)"
        }
    }
}

/// The server's choices that one reply reveals.
struct Lesson {
    private(set) var values: [Choice: Message] = [:]

    /// Records the value of a choice.
    /// - Returns: false if it contradicts a known value.
    mutating func note(_ value: Message, as choice: Choice) -> Bool {
        if case .told(let known) = choice { return known == value }
        if let known = values[choice] { return known == value }
        values[choice] = value
        return true
    }

    /// The name of the choice from now on.
    func name(of choice: Choice) -> Choice { values[choice].map(Choice.told) ?? choice }

    func name(of owner: Owner) -> Owner { Owner(person: owner.person, user: name(of: owner.user)) }
}

extension World {
    /// Replaces choices with the values from a reply everywhere, so that otherwise equal worlds become equal.
    /// - Returns: false if two users would have the same id.
    mutating func learn(_ lesson: Lesson) -> Bool {
        if lesson.values.isEmpty { return true }
        users = users.mapValues(lesson.name)
        invitations = Dictionary(
            uniqueKeysWithValues: invitations.map { choice, invitation in
                var invitation = invitation
                invitation.owner = lesson.name(of: invitation.owner)
                return (lesson.name(of: choice), invitation)
            })
        groups = groups.mapValues { $0.learning(lesson) }
        remains = remains.learning(lesson)
        return Set(users.values).count == users.count
    }
}

extension Group {
    fileprivate func learning(_ lesson: Lesson) -> Group {
        var group = self
        group.members = members.mapValues { member in
            var member = member
            member.owner = member.owner.map(lesson.name)
            member.invitation = member.invitation.map(lesson.name)
            return member
        }
        group.files = files.mapValues { file in
            var file = file
            file.owner = lesson.name(of: file.owner)
            file.created = lesson.name(of: file.created)
            file.updated = lesson.name(of: file.updated)
            return file
        }
        group.staged = staged.mapValues { changes in
            changes.mapValues { change in
                var change = change
                if let upload = change.upload {
                    change.upload?.owner = upload.owner.map(lesson.name)
                    change.upload?.created = upload.created.map(lesson.name)
                    change.upload?.updated = lesson.name(of: upload.updated)
                }
                return change
            }
        }
        group.commits = commits.mapValues { commits in
            commits.mapValues { commit in
                var commit = commit
                commit.members = commit.members.mapValues { member in
                    var member = member
                    member.created = member.created.map(lesson.name)
                    member.updated = member.updated.map(lesson.name)
                    return member
                }
                return commit
            }
        }
        return group
    }
}

extension Remains {
    fileprivate func learning(_ lesson: Lesson) -> Remains {
        func renamed(_ stored: Set<StoredContent>) -> Set<StoredContent> {
            Set(
                stored.map { stored in
                    var stored = stored
                    stored.owner = lesson.name(of: stored.owner)
                    return stored
                })
        }
        var remains = self
        // Only users matter here, and new ones are rare.
        guard lesson.values.keys.contains(where: { if case .user = $0 { true } else { false } }) else { return remains }
        (remains.left, remains.uncertain, remains.doomed) = (renamed(left), renamed(uncertain), renamed(doomed))
        return remains
    }
}
