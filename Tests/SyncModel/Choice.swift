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
