import Store
import SyncProtocol

/// The part of a file's story that plays in one group.
struct StoryChapter {
    let committed: FileEvidence.Committed
    /// What the owner's storage said; `nil` if it was not asked.
    let answer: CloudAnswer?
    /// Whether the file is in several groups, which older servers allowed.
    let isOneOfSeveral: Bool

    private var file: ListedFile { committed.file }

    private var group: String {
        committed.groupName.map { "“\($0)” (\(committed.sharingGroupUUID))" } ?? "\(committed.sharingGroupUUID)"
    }

    private var owner: String { committed.owner.nameInStories }

    /// Such as “the Google storage of Alice (Google, user 1)”.
    private var storage: String { "the \(file.storageType.rawValue) storage of \(owner)" }

    private var nextVersion: String { file.fileVersion.next.map(\.description) ?? "?" }

    /// Group and members.
    var setting: String {
        let members = committed.members
        let list = members.isEmpty ? "nobody" : members.map(\.nameInStories).joined(separator: ", ")
        let sentence =
            "It belongs to group \(group), of which \(list) \(members.count > 1 ? "are members" : "is a member")."
        return sentence
            + (isOneOfSeveral && committed.groupImported ? " An older server let files be in several groups." : "")
    }

    // MARK: What happened

    /// Uploads, the last change, and what phones were told, in chronological order.
    var events: [FileStory.Event] {
        var events = uploads
        if let version = committed.appMetaDataVersion {
            events.append(FileStory.Event(sentence: "Its metadata are at version \(version)."))
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
                    "\(file.createdAt.iso8601): version 0 was uploaded, a \(file.mimeType); who uploaded \(earlier) is "
                    + "not kept."),
            FileStory.Event(
                time: file.updatedAt,
                sentence: "\(file.updatedAt.iso8601): \(uploader) uploaded version \(file.fileVersion), \(size)."),
        ]
    }

    private var uploader: String {
        let device = "device \(committed.deviceUUID)"
        switch committed.deviceUsers.count {
        case 0: return "somebody on \(device), which no present member uses,"
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
            return "\(what) with master version \(version); who did it, and when, is no longer known."
        }
        let when = commit.committedAt.map { " at \($0.iso8601)" } ?? ""
        return "\(what) with master version \(version), committed by \(commit.person.nameInStories)\(when) on device "
            + "\(commit.deviceUUID)."
    }

    private var whereabouts: String {
        if file.deleted {
            let kept = committed.contentsKeptUntil.map { ", and stay there until \($0.iso8601)" }
            return "Its bytes were in \(storage)\(kept ?? "; the server no longer knows of any")."
        }
        switch committed.contentState {
        case .stored: break
        case .awaiting:
            let move =
                switch committed.serverMove {
                case nil: ""
                case .some(let move):
                    move.failure.map { " The server cannot move them: \($0)." } ?? " The server is to move them itself."
                }
            return "Its bytes were in an account that \(owner) has switched away from; nobody has uploaded them into "
                + "\(storage) yet.\(move)"
        case .missing:
            return
                "Its bytes were in an account that \(owner) has switched away from; \(owner) ended the switch without "
                + "them."
        }
        let object =
            committed.objectID.map { "as object \($0), by default named" } ?? "not looked for yet, under the name"
        let sum = committed.checkSum.map { "; checksum \($0)" } ?? ""
        let verb = answer?.finding == .missing || answer?.finding == .replaced ? "were put" : "are"
        return "Its bytes \(verb) in \(storage), \(object) \(committed.objectName)\(sum)."
    }

    private func sentence(about gone: FileEvidence.Gone) -> String {
        let noticed =
            gone.reason == .authTokenExpiredOrRevoked
            ? "noticed that the storage refuses this server" : "noticed that the bytes were gone"
        let more =
            gone.timesTold == 1
            ? ""
            : ", and phones were told so \(gone.timesTold) times in all, the last time at \(gone.lastToldAt.iso8601)"
        let request = gone.lastRequestID.map { " (request \($0) in the logs)" } ?? ""
        return
            "\(gone.firstToldAt.iso8601): \(noticed), when a phone wanted version \(gone.fileVersion); it was told gone: "
            + "\(gone.reason.rawValue)\(more)\(request)."
    }

    // MARK: How it is

    /// What the storage says, and what phones see.
    var present: [String] { [said, seen].compactMap(\.self) }

    private var said: String? {
        guard committed.isAlive, let answer else { return nil }
        let detail = answer.detail.map { " (\($0))" } ?? ""
        let somebody = "\(owner), or somebody or something else with access to that storage,"
        let sentence =
            switch answer.finding {
            case .present: "the bytes are in \(storage), as they were uploaded."
            case .alike:
                "as many bytes as were uploaded are in \(storage), which tells no hash of them: whether they are the same, "
                    + "nobody has read."
            case .inBin: "the bytes are in the bin of \(storage): \(somebody) has thrown them away."
            case .changed:
                "the bytes in \(storage) are not those that were uploaded\(detail): \(somebody) has changed them."
            case .replaced: "the object is gone from \(storage), and another one has its name\(detail)."
            case .missing:
                "the bytes are not in \(storage), neither as that object nor under its name: \(somebody) has deleted "
                    + "them. This server did not: it deletes the bytes of a file only after a phone has deleted the file."
            case .refused:
                "\(storage) refuses this server: \(owner) has withdrawn the app's permission or changed the password, "
                    + "or the provider has. Whether the bytes are there cannot be asked."
            case .unavailable:
                "\(storage) could not be asked\(detail), so it is not known whether the bytes are there."
            }
        return "\(answer.askedAt.iso8601), asked now: \(sentence)"
    }

    private var seen: String {
        if committed.groupDeleted { return "Now: the group has ended, so no phone sees the file." }
        if file.deleted {
            return
                "Now: phones in group \(group) are told at their next sync that the file is deleted. It comes back only "
                + "if somebody undeletes it by uploading version \(nextVersion)."
        }
        var sentence =
            "Now: phones in group \(group) see version \(file.fileVersion) at master version "
            + "\(committed.groupMasterVersion), and \(delivery)"
        if committed.owner.name == nil || !committed.ownerIsMember {
            sentence += " BUT the owner is not in the group, so downloads fail: run syncctl fsck."
        }
        return sentence
    }

    /// What happens when they want the contents.
    private var delivery: String {
        switch committed.contentState {
        case .stored: break
        case .awaiting where committed.serverMove?.failure == nil && committed.serverMove != nil:
            return "download it from the account that \(owner) has left, as long as that can be read."
        case .awaiting: return "those that download it are told gone: authTokenExpiredOrRevoked, awaitingReupload."
        case .missing: return "those that download it are told gone: fileRemovedOrRenamed."
        }
        let normal = "download it from \(owner)'s storage"
        return switch answer?.finding {
        case nil, .present, .inBin: "\(normal)."
        case .alike: "\(normal), marked as changed (contentsChanged) if the bytes are others."
        case .changed: "\(normal), marked as changed (contentsChanged)."
        case .replaced:
            "the next that downloads it gets the object that has the name, which is the file's from then on."
        case .missing: "those that download it are told gone: fileRemovedOrRenamed."
        case .refused: "those that download it are told gone: authTokenExpiredOrRevoked."
        case .unavailable: "\(normal), if it can be reached from where the server is."
        }
    }

    // MARK: What can be done

    var remedies: [String] {
        if committed.groupDeleted { return [] }
        if file.deleted { return remediesOfDeletion }
        guard committed.contentState == .stored else {
            return [
                "A device that has version \(file.fileVersion), of any member who may write, uploads it again "
                    + "(ReuploadFile); the app does that by itself.",
                "Else somebody uploads other contents as version \(nextVersion), or the app deletes the file.",
            ]
        }
        switch answer?.finding {
        case nil, .present, .replaced: return []
        case .alike: return ["To have them read: syncctl fsck --clouds --group \(committed.sharingGroupUUID) --read"]
        case .inBin:
            return [
                "\(owner) restores \(committed.objectName) from the bin, before the provider empties it "
                    + "(docs/complaints.md says when)."
            ]
        case .changed:
            return ["\(owner) restores an earlier revision in the storage, where it keeps any; or leaves it as it is."]
        case .missing:
            return [
                "\(owner) looks for \(committed.objectName) in the bin of the storage and restores it (docs/complaints.md "
                    + "says how long bins keep things); the next download finds it.",
                "Else somebody who still has the contents on a phone uploads them as version \(nextVersion).",
                "Else the app deletes the file, so that phones no longer list it.",
            ]
        case .refused:
            return ["\(owner) signs in again in the app; after that the downloads work, and nothing is lost."]
        case .unavailable:
            return [
                "Ask again, with more time: syncctl files explain \(file.fileUUID) --deadline 60",
                "If it stays like that: syncctl doctor says whether this host reaches the provider.",
            ]
        }
    }

    private var remediesOfDeletion: [String] {
        let copy =
            committed.contentsKeptUntil.map { until in
                "Until \(until.iso8601) \(owner) can copy the bytes out of the storage: \(committed.objectName)."
            }
            ?? "\(owner) looks for \(committed.objectName) in the bin of the storage, if it has one for what programs "
            + "delete (docs/complaints.md)."
        return [copy, "Somebody who has the contents undeletes the file in the app, with version \(nextVersion)."]
    }
}
