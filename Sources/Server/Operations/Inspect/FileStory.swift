import Store
import SyncProtocol

/// The history of one file as far as the database knows it, for people to read.
///
/// The database keeps the current state of a file and not its past, so the story says what must have happened, and says
/// so where who or when is unknown: commits are remembered by their id for a week, and a group's newest commit until
/// the next.
public struct FileStory: Report {
    public var evidence: FileEvidence
    /// The story, in chronological order, then the current state.
    public var sentences: [String]

    public init(_ evidence: FileEvidence) {
        self.evidence = evidence
        var sentences: [String] = []
        for committed in evidence.committed {
            sentences += Self.history(of: committed, isOneOfSeveral: evidence.committed.count > 1)
        }
        if evidence.committed.isEmpty { sentences.append("No group has a file of that UUID.") }
        sentences += evidence.staged.map(Self.sentence(about:))
        sentences += evidence.outbox.map { work in
            "In the outbox, job \(work.jobID): \(work.sentence)"
                + (work.requestID.map { ", for request \($0)" } ?? "")
                + (work.attempts == 0 ? "." : "; \(Quantity.of(work.attempts, "attempt")) so far.")
        }
        sentences += evidence.committed.map(Self.presentView(of:))
        self.sentences = sentences
    }

    public var lines: [String] { ["file \(evidence.fileUUID)"] + sentences.map { "  - \($0)" } }

    private static func history(of committed: FileEvidence.Committed, isOneOfSeveral: Bool) -> [String] {
        let file = committed.file
        let group = name(of: committed)
        var sentences = [
            "It belongs to group \(group), of which \(list(committed.members)) \(verb(committed.members))."
        ]
        if isOneOfSeveral && committed.groupImported {
            sentences[0] += " An older server let files be in several groups."
        }
        let uploader = uploader(of: committed)
        if file.fileVersion == .first {
            sentences.append(
                "\(file.createdAt) UTC: \(uploader) uploaded version 0, \(size(file)) of \(file.mimeType).")
        } else {
            let earlier =
                file.fileVersion.rawValue == 1 ? "version 0" : "versions 0 to \(file.fileVersion.rawValue - 1)"
            sentences.append(
                "\(file.createdAt) UTC: version 0 was uploaded, a \(file.mimeType); who uploaded \(earlier) is not kept."
            )
            sentences.append("\(file.updatedAt) UTC: \(uploader) uploaded version \(file.fileVersion), \(size(file)).")
        }
        if let version = committed.appMetaDataVersion {
            sentences.append("Its metadata are at version \(version).")
        }
        sentences.append(lastChange(of: committed))
        sentences.append(whereabouts(of: committed))
        return sentences
    }

    private static func lastChange(of committed: FileEvidence.Committed) -> String {
        let version = committed.file.changedAtMasterVersion
        let what =
            if committed.file.deleted { "It was deleted" } else { "It last changed (contents, metadata or undeletion)" }
        guard let commit = committed.lastChange else {
            return "\(what) with master version \(version); who did it, and when, is no longer known."
        }
        let when = commit.committedAt.map { " at \($0) UTC" } ?? ""
        return "\(what) with master version \(version), committed by \(name(of: commit.person))\(when) on device "
            + "\(commit.deviceUUID)."
    }

    private static func whereabouts(of committed: FileEvidence.Committed) -> String {
        let owner = name(of: committed.owner)
        let storage = committed.file.storageType.rawValue
        if committed.file.deleted {
            return "Its bytes were in the \(storage) storage of \(owner); the server no longer knows of any."
        }
        let object =
            committed.objectID.map { "as object \($0), by default named" } ?? "not looked for yet, under the name"
        let sum = committed.checkSum.map { "; checksum \($0)" } ?? ""
        return "Its bytes are in the \(storage) storage of \(owner), \(object) \(committed.objectName)\(sum)."
    }

    private static func sentence(about staged: FileEvidence.Staged) -> String {
        let what =
            switch staged.kind {
            case "upload": "uploaded version \(staged.fileVersion.map(\.description) ?? "?")"
            case "undelete": "uploaded version \(staged.fileVersion.map(\.description) ?? "?"), which revives it,"
            case "metadata": "changed the metadata to version \(staged.appMetaDataVersion.map(\.description) ?? "?")"
            default: "deleted version \(staged.fileVersion.map(\.description) ?? "?")"
            }
        let place = staged.owner.map { " The bytes are in the storage of \(name(of: $0))." } ?? ""
        let commit = staged.batchUUID.map { "the rest of batch \($0)" } ?? "DoneUploads"
        return
            "\(staged.stagedAt) UTC: \(name(of: staged.person)) \(what) on device \(staged.deviceUUID); this waits for "
            + "\(commit), and nobody else sees it.\(place)"
    }

    /// What phones currently see.
    private static func presentView(of committed: FileEvidence.Committed) -> String {
        let group = name(of: committed)
        if committed.groupDeleted { return "Now: the group has ended, so no phone sees the file." }
        let file = committed.file
        if file.deleted {
            return
                "Now: phones in group \(group) are told at their next sync that the file is deleted. It comes back only "
                + "if somebody undeletes it by uploading version \(file.fileVersion.next.map(\.description) ?? "?")."
        }
        var sentence =
            "Now: phones in group \(group) see version \(file.fileVersion) at master version "
            + "\(committed.groupMasterVersion), and download it from \(name(of: committed.owner))'s storage."
        if committed.owner.name == nil || !committed.ownerIsMember {
            sentence += " BUT the owner is not in the group, so downloads fail: run syncctl fsck."
        }
        return sentence
    }

    private static func uploader(of committed: FileEvidence.Committed) -> String {
        let device = "device \(committed.deviceUUID)"
        switch committed.deviceUsers.count {
        case 0: return "somebody on \(device), which no present member uses,"
        case 1: return "\(name(of: committed.deviceUsers[0])) on \(device)"
        default:
            let names = committed.deviceUsers.map(name).joined(separator: " or ")
            return "\(names) on \(device), which they share,"
        }
    }

    private static func name(of person: FileEvidence.Person) -> String {
        guard let name = person.name, let type = person.accountType else {
            return "user \(person.userID), who has left"
        }
        return "\(name) (\(type.rawValue), user \(person.userID))"
    }

    private static func name(of committed: FileEvidence.Committed) -> String {
        committed.groupName.map { "“\($0)” (\(committed.sharingGroupUUID))" } ?? "\(committed.sharingGroupUUID)"
    }

    private static func list(_ people: [FileEvidence.Person]) -> String {
        if people.isEmpty { return "nobody" }
        return people.map(name).joined(separator: ", ")
    }

    private static func verb(_ people: [FileEvidence.Person]) -> String {
        people.count > 1 ? "are members" : "is a member"
    }

    private static func size(_ file: ListedFile) -> String {
        file.sizeBytes.map { Quantity.bytes($0) } ?? "of unknown size"
    }
}
