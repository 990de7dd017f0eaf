import Store
import SyncProtocol

/// The history of one file as readable text, from the database and the reply of its owner's storage. The database
/// stores the current state of a file but not its past, so the story infers what happened, and states which persons or
/// times are unknown: commits with an id are stored for a week, and a group's newest commit until the next. A deletion
/// in the owner's storage is detected when a phone requests the contents, or when the storage is asked.
public struct FileStory: Report {
    public var evidence: FileEvidence
    /// The replies of the owners' storages; absent if they were not asked.
    public var clouds: [CloudAnswer]?
    /// The story, in chronological order, then the current state.
    public var sentences: [String]
    /// Remedies for problems; empty if there are none.
    public var remedies: [String]

    /// - Parameter clouds: the replies of the owners' storages; `nil` if they were not asked.
    public init(_ evidence: FileEvidence, clouds: [CloudAnswer]? = nil) {
        self.evidence = evidence
        self.clouds = clouds
        let chapters = evidence.committed.map { committed in
            StoryChapter(
                committed: committed,
                answer: clouds?.first { $0.sharingGroupUUID == committed.sharingGroupUUID },
                isOneOfSeveral: evidence.committed.count > 1)
        }
        var sentences = chapters.map(\.setting)
        if evidence.committed.isEmpty { sentences.append("No group has a file with that UUID.") }
        sentences += Self.chronicle(chapters.flatMap(\.events) + Self.pending(evidence))
        sentences += chapters.flatMap(\.present)
        if clouds == nil, evidence.committed.contains(where: { $0.isAlive }) {
            sentences.append("The storage was not asked whether the contents exist (--no-clouds).")
        }
        self.sentences = sentences
        remedies = chapters.flatMap(\.remedies)
    }

    public var lines: [String] {
        var lines = ["file \(evidence.fileUUID)"] + sentences.map { "  - \($0)" }
        if !remedies.isEmpty { lines += ["what can be done"] + remedies.map { "  - \($0)" } }
        return lines
    }

    /// An event in the history.
    struct Event {
        /// `nil` if unknown: the event follows the one before it.
        var time: WireDate?
        var sentence: String
    }

    /// The sentences in chronological order; events with equal or unknown times keep their order.
    private static func chronicle(_ events: [Event]) -> [String] {
        var latest = WireDate(secondsSince1970: 0)
        let dated = events.enumerated().map { number, event in
            latest = event.time ?? latest
            return (time: latest, number: number, sentence: event.sentence)
        }
        return dated.sorted { ($0.time, $0.number) < ($1.time, $1.number) }.map(\.sentence)
    }

    /// Uncommitted changes, and work in the outbox.
    private static func pending(_ evidence: FileEvidence) -> [Event] {
        let staged = evidence.staged.map { Event(time: $0.stagedAt, sentence: sentence(about: $0)) }
        let work = evidence.outbox.map { work in
            Event(
                time: work.createdAt,
                sentence: "In the outbox, job \(work.jobID): \(work.sentence)"
                    + (work.requestID.map { ", for request \($0)" } ?? "")
                    + (work.attempts == 0 ? "." : "; \(Quantity.of(work.attempts, "attempt")) so far."))
        }
        return staged + work
    }

    private static func sentence(about staged: FileEvidence.Staged) -> String {
        let what =
            switch staged.kind {
            case "upload": "uploaded version \(staged.fileVersion.map(\.description) ?? "?")"
            case "undelete": "uploaded version \(staged.fileVersion.map(\.description) ?? "?"), which undeletes it,"
            case "metadata": "changed the metadata to version \(staged.appMetaDataVersion.map(\.description) ?? "?")"
            default: "deleted version \(staged.fileVersion.map(\.description) ?? "?")"
            }
        let place = staged.owner.map { " The contents are in the storage of \($0.nameInStories)." } ?? ""
        let commit = staged.batchUUID.map { "the rest of batch \($0)" } ?? "DoneUploads"
        return
            "\(staged.stagedAt.iso8601): \(staged.person.nameInStories) \(what) on device \(staged.deviceUUID); the "
            + "change waits for \(commit), and nobody else sees it.\(place)"
    }
}

extension FileEvidence.Person {
    /// With the account's type and the user's number.
    var nameInStories: String {
        guard let name, let accountType else { return "user \(userID), who has left" }
        return "\(name) (\(accountType.rawValue), user \(userID))"
    }
}

extension FileEvidence.Committed {
    /// Whether phones list the file.
    var isAlive: Bool { !file.deleted && !groupDeleted }
}
