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
    /// Remedies for problems; may be empty.
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

/// The part of a file's story in one group.
struct StoryChapter {
    let committed: FileEvidence.Committed
    /// The reply of the owner's storage; `nil` if it was not asked.
    let answer: CloudAnswer?
    /// Whether the file is in several groups, which older servers allowed.
    let isOneOfSeveral: Bool

    private var file: ListedFile { committed.file }

    private var group: String {
        committed.groupName.map { "“\($0)” (\(committed.sharingGroupUUID))" } ?? "\(committed.sharingGroupUUID)"
    }

    private var owner: String { committed.owner.nameInStories }

    /// For example “the Google storage of Alice (Google, user 1)”.
    private var storage: String { "the \(file.storageType.rawValue) storage of \(owner)" }

    private var nextVersion: String { file.fileVersion.next.map(\.description) ?? "?" }

    /// Group and members.
    var setting: String {
        let members = committed.members
        let list = members.isEmpty ? "nobody" : members.map(\.nameInStories).joined(separator: ", ")
        let sentence =
            "It belongs to group \(group), whose \(members.count > 1 ? "members are" : "member is") \(list)."
        return sentence
            + (isOneOfSeveral && committed.groupImported ? " An older server allowed files in several groups." : "")
    }

    // MARK: Events

    /// Uploads, the last change, and replies that contents are gone, in chronological order.
    var events: [FileStory.Event] {
        var events = uploads
        if let version = committed.appMetaDataVersion {
            events.append(FileStory.Event(sentence: "Its metadata is at version \(version)."))
        }
        events.append(FileStory.Event(time: committed.lastChange?.committedAt, sentence: lastChange))
        events.append(FileStory.Event(sentence: whereabouts))
        events += committed.gone.map { FileStory.Event(time: $0.firstToldAt, sentence: sentence(about: $0)) }
        return events
    }

    private var uploads: [FileStory.Event] {
        let size = file.sizeBytes.map { Quantity.bytes($0) } ?? "of unknown size"
        guard file.fileVersion != .first else {
            return [
                FileStory.Event(
                    time: file.createdAt,
                    sentence: "\(file.createdAt.iso8601): \(uploader) uploaded version 0, \(size) of \(file.mimeType).")
            ]
        }
        let earlier =
            file.fileVersion.rawValue == 1 ? "version 0" : "versions 0 to \(file.fileVersion.rawValue - 1)"
        return [
            FileStory.Event(
                time: file.createdAt,
                sentence:
                    "\(file.createdAt.iso8601): version 0 was uploaded, a \(file.mimeType); there is no record of who "
                    + "uploaded \(earlier)."),
            FileStory.Event(
                time: file.updatedAt,
                sentence: "\(file.updatedAt.iso8601): \(uploader) uploaded version \(file.fileVersion), \(size)."),
        ]
    }

    private var uploader: String {
        let device = "device \(committed.deviceUUID)"
        switch committed.deviceUsers.count {
        case 0: return "somebody on \(device), which no current member uses,"
        case 1: return "\(committed.deviceUsers[0].nameInStories) on \(device)"
        default:
            let names = committed.deviceUsers.map(\.nameInStories).joined(separator: " or ")
            return "\(names) on \(device), which they share,"
        }
    }

    private var lastChange: String {
        let version = file.changedAtMasterVersion
        let what =
            if file.deleted { "It was deleted" } else { "It last changed (contents, metadata or undeletion)" }
        guard let commit = committed.lastChange else {
            return "\(what) with master version \(version); there is no longer a record of who did it and when."
        }
        let when = commit.committedAt.map { " at \($0.iso8601)" } ?? ""
        return "\(what) with master version \(version), committed by \(commit.person.nameInStories)\(when) on device "
            + "\(commit.deviceUUID)."
    }

    private var whereabouts: String {
        if file.deleted {
            let kept = committed.contentsKeptUntil.map { ", and stay there until \($0.iso8601)" }
            return "Its contents were in \(storage)\(kept ?? "; the server no longer has a record of them")."
        }
        switch committed.contentState {
        case .stored: break
        case .awaiting:
            let move =
                switch committed.serverMove {
                case nil: ""
                case .some(let move):
                    move.failure.map { " The server cannot move them: \($0)." } ?? " The server will move them itself."
                }
            return "Its contents were in an account that \(owner) has switched away from; nobody has uploaded them to "
                + "\(storage) yet.\(move)"
        case .missing:
            return
                "Its contents were in an account that \(owner) has switched away from; \(owner) ended the switch "
                + "without them."
        }
        let object =
            committed.objectID.map { "as object \($0), with the default name" } ?? "not looked up yet, with the name"
        let sum = committed.checkSum.map { "; checksum \($0)" } ?? ""
        let verb = answer?.finding == .missing || answer?.finding == .replaced ? "were stored" : "are"
        return "Its contents \(verb) in \(storage), \(object) \(committed.objectName)\(sum)."
    }

    private func sentence(about gone: FileEvidence.Gone) -> String {
        let noticed =
            gone.reason == .authTokenExpiredOrRevoked
            ? "the server found that the storage denies access" : "the server found that the contents were gone"
        let more =
            gone.timesTold == 1
            ? ""
            : ", as were \(gone.timesTold) requests in total, the last at \(gone.lastToldAt.iso8601)"
        let request = gone.lastRequestID.map { " (request \($0) in the logs)" } ?? ""
        return
            "\(gone.firstToldAt.iso8601): \(noticed) when a phone requested version \(gone.fileVersion); the request "
            + "was answered gone: \(gone.reason.rawValue)\(more)\(request)."
    }

    // MARK: Current state

    /// The storage's reply, and what phones see.
    var present: [String] { [said, seen].compactMap(\.self) }

    private var said: String? {
        guard committed.isAlive, let answer else { return nil }
        let detail = answer.detail.map { " (\($0))" } ?? ""
        let somebody = "\(owner), or another person or program with access to that storage,"
        let sentence =
            switch answer.finding {
            case .present: "the contents are in \(storage), as they were uploaded."
            case .alike:
                "contents of the uploaded size are in \(storage), which reports no hash: whether they are unchanged "
                    + "has not been checked by reading them."
            case .inBin: "the contents are in the bin of \(storage): \(somebody) has moved them there."
            case .changed:
                "the contents in \(storage) differ from those uploaded\(detail): \(somebody) has changed them."
            case .replaced: "the object is gone from \(storage), and another one has its name\(detail)."
            case .missing:
                "the contents are not in \(storage), neither as that object nor under its name: \(somebody) has "
                    + "deleted them. This server did not: it deletes the contents of a file only after a phone has "
                    + "deleted the file."
            case .refused:
                "\(storage) denies this server access: \(owner) has revoked the app's permission or changed the "
                    + "password, or the provider has revoked it. The storage cannot be asked whether the contents "
                    + "exist."
            case .unavailable:
                "\(storage) could not be asked\(detail), so it is unknown whether the contents exist."
            }
        return "\(answer.askedAt.iso8601), checked now: \(sentence)"
    }

    private var seen: String {
        if committed.groupDeleted { return "Now: the group has ended, so no phone sees the file." }
        if file.deleted {
            return
                "Now: phones in group \(group) learn at their next sync that the file is deleted. Only uploading "
                + "version \(nextVersion) as an undeletion restores it."
        }
        var sentence =
            "Now: phones in group \(group) see version \(file.fileVersion) at master version "
            + "\(committed.groupMasterVersion), and \(delivery)"
        if committed.owner.name == nil || !committed.ownerIsMember {
            sentence += " BUT the owner is not in the group, so downloads fail: run syncctl fsck."
        }
        return sentence
    }

    /// The result when phones request the contents.
    private var delivery: String {
        switch committed.contentState {
        case .stored: break
        case .awaiting where committed.serverMove?.failure == nil && committed.serverMove != nil:
            return "download it from the former account of \(owner), while that can still be read."
        case .awaiting: return "those that download it get the reply gone: authTokenExpiredOrRevoked, awaitingReupload."
        case .missing: return "those that download it get the reply gone: fileRemovedOrRenamed."
        }
        let normal = "download it from \(owner)'s storage"
        return switch answer?.finding {
        case nil, .present, .inBin: "\(normal)."
        case .alike: "\(normal), marked as changed (contentsChanged) if the contents differ."
        case .changed: "\(normal), marked as changed (contentsChanged)."
        case .replaced:
            "the next one that downloads it gets the object with that name, which then becomes the file's object."
        case .missing: "those that download it get the reply gone: fileRemovedOrRenamed."
        case .refused: "those that download it get the reply gone: authTokenExpiredOrRevoked."
        case .unavailable: "\(normal), if the server can reach it."
        }
    }

    // MARK: Remedies

    var remedies: [String] {
        if committed.groupDeleted { return [] }
        if file.deleted { return remediesOfDeletion }
        guard committed.contentState == .stored else {
            return [
                "A device of any member with write permission that has version \(file.fileVersion) uploads it again "
                    + "(ReuploadFile); the app does that automatically.",
                "Otherwise somebody uploads different contents as version \(nextVersion), or the app deletes the file.",
            ]
        }
        switch answer?.finding {
        case nil, .present, .replaced: return []
        case .alike:
            return [
                "To read and compare them: syncctl fsck --clouds --group \(committed.sharingGroupUUID) --read"
            ]
        case .inBin:
            return [
                "\(owner) restores \(committed.objectName) from the bin, before the provider empties it "
                    + "(docs/complaints.md lists the times)."
            ]
        case .changed:
            return [
                "\(owner) restores an earlier revision in the storage, if it keeps revisions; or keeps the "
                    + "changed contents."
            ]
        case .missing:
            return [
                "\(owner) looks for \(committed.objectName) in the bin of the storage and restores it "
                    + "(docs/complaints.md lists how long bins keep files); the next download finds it.",
                "Otherwise somebody who still has the contents on a phone uploads them as version \(nextVersion).",
                "Otherwise the app deletes the file, so that phones no longer list it.",
            ]
        case .refused:
            return ["\(owner) signs in again in the app; then downloads work again, and nothing is lost."]
        case .unavailable:
            return [
                "Retry with more time: syncctl files explain \(file.fileUUID) --deadline 60",
                "If the problem persists: syncctl doctor shows whether this host can reach the provider.",
            ]
        }
    }

    private var remediesOfDeletion: [String] {
        let copy =
            committed.contentsKeptUntil.map { until in
                "Until \(until.iso8601), \(owner) can copy the contents from the storage: \(committed.objectName)."
            }
            ?? "\(owner) looks for \(committed.objectName) in the bin of the storage, if it has one for files that "
            + "programs delete (docs/complaints.md)."
        return [copy, "Somebody who has the contents undeletes the file in the app, with version \(nextVersion)."]
    }
}
