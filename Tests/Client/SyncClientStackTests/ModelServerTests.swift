import Foundation
import TestSupport
import Testing

@testable import SyncClient
@testable import SyncClientTesting
@testable import SyncEngine

/// Simulations of clients are valid only as far as their model matches the real server.
@Suite("The model of the server, compared with the server")
struct ModelServerTests {
    /// `SYNC_MODEL_SEEDS` overrides the default.
    static let seeds = ProcessInfo.processInfo.environment["SYNC_MODEL_SEEDS"].flatMap { UInt64($0) } ?? 6

    @Test("Both give the same replies in a random conversation, and after the admin has left", arguments: 1...seeds)
    func conversation(seed: UInt64) async throws {
        let conversation = try await Conversation(TestServer.shared(), seed: seed)
        var said: [String] = []
        for number in 1...150 {
            let (speaker, request, contents) = number == 130 ? conversation.departure() : conversation.next()
            let replies = try await conversation.replies(to: request, from: speaker, contents)
            said.append("\(speaker.name): \(request)\n    \(replies.server)")
            guard replies.server == replies.model else {
                Issue.record(
                    "seed \(seed), \(said.suffix(8).joined(separator: "\n"))\n    the model replied: \(replies.model)")
                return
            }
        }
        #expect(conversation.kinds.count >= 8)
        #expect(conversation.refusals >= 5)
        #expect(conversation.successes >= 60)
    }
}

/// Random requests, mostly valid and sometimes invalid, of three devices of two people.
private final class Conversation {
    struct Speaker {
        let name: String
        let device: Device
        let performer: ConnectionPerformer
        let caller: ModelCaller
    }

    private let model = ModelServer(capabilities: .all)
    private let group: SharingGroupUUID
    private var speakers: [Speaker] = []
    /// Has been a member longer than Ben, but has a lower permission. Sends no requests.
    private let reader: Device
    private var random: SplitMix64
    private var number = 0
    private var lastCommit: [String: ServerRequest] = [:]
    private var lastUpload: [String: (ServerRequest, String)] = [:]
    /// The batch that a speaker has begun, with its number of requests.
    private var batches: [String: UploadBatch] = [:]
    /// The kinds of replies so far.
    private(set) var kinds: Set<String> = []
    private(set) var refusals = 0
    private(set) var successes = 0

    init(_ server: TestServer, seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        let anna = try await Device.signedUp(server)
        group = anna.group
        let tablet = try await anna.another()
        reader = try await anna.invited(.google, permission: .read)
        let ben = try await anna.invited(.google)
        model.addGroup(group, name: "Family", admin: UserID(1))
        model.users.insert(UserID(2))
        model.add(UserID(2), to: group, .read)
        for (name, device, user) in [("Anna", anna, 1), ("Anna's tablet", tablet, 1), ("Ben", ben, 3)] {
            let user = UserID(Int64(user))
            if model.users.insert(user).inserted, user == UserID(3) { model.add(user, to: group, .write) }
            let connection = try #require(device.client.connection)
            let credentials = try #require(device.client.credentialProvider)
            speakers.append(
                Speaker(
                    name: name, device: device, performer: ConnectionPerformer(connection, credentials) { _, _ in },
                    caller: ModelCaller(user: user, device: device.client.deviceUUID)))
        }
    }

    // MARK: Replies

    func replies(
        to request: ServerRequest, from speaker: Speaker, _ contents: String?
    ) async throws -> (server: String, model: String) {
        if case .uploadFile(let upload) = request, let contents {
            try Data(contents.utf8).write(to: speaker.device.folder.appending(path: upload.source.path))
        }
        let files = speaker.device.client.driver.files
        let reply = await speaker.performer.reply(to: request, files: files, progress: { _ in })
        var bytes: String?
        if case .fileDownloaded(let file) = reply, let url = files.url(of: file.location) {
            bytes = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        }
        let answer = model.perform(
            request, from: speaker.caller, contents: contents, at: WireDate(secondsSince1970: 1_700_000_000))
        note(answer.reply)
        return (reply.described(in: group, bytes), answer.reply.described(in: group, answer.contents))
    }

    private func note(_ reply: ServerReply) {
        kinds.insert(String(describing: reply).prefix { $0 != "(" }.description)
        switch reply {
        case .failed, .stale: refusals += 1
        default: successes += 1
        }
    }

    // MARK: Requests

    func next() -> (Speaker, ServerRequest, contents: String?) {
        number += 1
        let speaker = speakers[random.below(speakers.count)]
        switch random.below(100) {
        case 0..<32:
            if random.once(in: 12), let last = lastUpload[speaker.name] { return (speaker, last.0, last.1) }
            var upload = upload()
            upload.batch = batch(speaker)
            lastUpload[speaker.name] = (.uploadFile(upload), "contents \(number)")
            return (speaker, .uploadFile(upload), "contents \(number)")
        case 32..<41:
            let text = AppMetaData(version: textVersion(after: anyFile()?.file), contents: "text \(number)")
            return (
                speaker,
                .uploadAppMetaData(
                    lastFile, text, masterVersion: masterVersion(), sharingGroupUUID: group, batch: batch(speaker)), nil
            )
        case 41..<49:
            let known = anyFile()
            let version = mostly(known?.file.version ?? .first) { FileVersion(Int32($0.below(3))) }
            return (
                speaker,
                .uploadDeletion(
                    lastFile, version, masterVersion: masterVersion(), sharingGroupUUID: group, batch: batch(speaker)),
                nil
            )
        case 49..<56: return (speaker, .getUploads(group), nil)
        case 56, 57: return (speaker, .createSharingGroup(group, name: "again"), nil)
        case 58..<60: return (speaker, .discardUploads(group, [anyFile()?.id ?? makeFile()]), nil)
        case 60..<78: return (speaker, commit(speaker), nil)
        case 78..<88:
            guard !random.once(in: 5) else { return (speaker, .index(.init(sharingGroupUUID: nil, since: nil)), nil) }
            let since: MasterVersion? = random.once(in: 2) ? masterVersion() : nil
            return (speaker, .index(.init(sharingGroupUUID: group, since: since)), nil)
        case 88..<95:
            let known = anyFile()
            let version = mostly(known?.file.version ?? .first) { FileVersion(Int32($0.below(3))) }
            let textVersion = mostly(known?.file.text?.version) { AppMetaDataVersion(Int32($0.below(2))) }
            return (
                speaker,
                .downloadFile(
                    lastFile, version, textVersion, masterVersion: masterVersion(), sharingGroupUUID: group), nil
            )
        default:
            let known = anyFile()
            return (
                speaker,
                .downloadAppMetaData(
                    lastFile, known?.file.text?.version ?? .first, masterVersion: masterVersion(),
                    sharingGroupUUID: group), nil
            )
        }
    }

    /// Anna leaves the group, and continues to send requests to it.
    func departure() -> (Speaker, ServerRequest, contents: String?) {
        let version = model.groups[group]?.masterVersion ?? .initial
        return (speakers[0], .removeUserFromSharingGroup(group, masterVersion: version), nil)
    }

    private var lastFile = FileUUID.random()

    /// A file of the group, sometimes one that does not exist; sets ``lastFile``.
    private func anyFile() -> (id: FileUUID, file: ModelFile)? {
        let files = model.groups[group]?.files ?? [:]
        guard let id = random.once(in: 15) ? nil : random.pick(files.keys.sorted()), let file = files[id] else {
            lastFile = makeFile()
            return nil
        }
        lastFile = id
        return (id, file)
    }

    private func makeFile() -> FileUUID {
        // Unique to the group, and in the same order in each run.
        FileUUID(group.rawValue.prefix(24) + String(format: "%012d", number)) ?? .random()
    }

    private func mostly<Value>(_ right: Value, or other: (inout SplitMix64) -> Value) -> Value {
        random.once(in: 9) ? other(&random) : right
    }

    private func masterVersion() -> MasterVersion {
        let current = model.groups[group]?.masterVersion ?? .initial
        return random.once(in: 12) ? MasterVersion(max(0, current.rawValue - 1 + Int64(random.below(3)))) : current
    }

    private func textVersion(after file: ModelFile?) -> AppMetaDataVersion {
        mostly(file?.text?.version.next ?? .first) { AppMetaDataVersion(Int32($0.below(3))) }
    }

    private func upload() -> FileUpload {
        let known = random.once(in: 3) ? nil : anyFile()
        if known == nil { lastFile = makeFile() }
        let version = mostly(known?.file.version.next ?? .first) { FileVersion(Int32($0.below(3))) }
        let text: AppMetaData? =
            random.once(in: 3)
            ? AppMetaData(version: textVersion(after: known?.file), contents: "text \(number)") : nil
        let isNew = known == nil && version == .first
        return FileUpload(
            fileUUID: lastFile, sharingGroupUUID: group,
            mimeType: MIMEType(random.once(in: 20) ? "image/jpeg" : "text/plain") ?? known?.file.mimeType ?? MIMEType(
                "text/plain")!,
            fileVersion: version, masterVersion: masterVersion(),
            fileGroupUUID: isNew && random.once(in: 3) ? FileGroupUUID("00000000-0000-4000-9000-000000000001") : nil,
            appMetaData: text, undeleteServerFile: mostly(known?.file.isDeleted ?? false) { $0.once(in: 2) },
            source: LocalFileLocation(base: .documents, path: "upload \(number)"), fileSize: nil, fileModified: nil,
            cloudStorageType: .google)
    }

    /// Every third change belongs to a batch: the current one, or a new one.
    private func batch(_ speaker: Speaker) -> UploadBatch? {
        guard random.once(in: 3) else { return nil }
        if let begun = batches[speaker.name], !random.once(in: 3) { return begun }
        let batch = BatchUUID(group.rawValue.prefix(24) + String(format: "%012d", 500_000 + number)).map {
            UploadBatch(batchUUID: $0, batchCount: Int32(1 + random.below(3)))
        }
        batches[speaker.name] = batch
        return batch
    }

    private func commit(_ speaker: Speaker) -> ServerRequest {
        if random.once(in: 6), let last = lastCommit[speaker.name] { return last }
        var id = random.once(in: 5) ? nil : CommitID(group.rawValue.prefix(24) + String(format: "%012d", number))
        // Sometimes the id of the speaker's last commit.
        if random.once(in: 8), case .doneUploads(let last)? = lastCommit[speaker.name] { id = last.commitID }
        let request = ServerRequest.doneUploads(
            .init(
                sharingGroupUUID: group, masterVersion: masterVersion(),
                sharingGroupName: random.once(in: 6) ? "Name \(number)" : nil, pushNotificationMessage: nil,
                commitID: id, numberOfDeletions: 0))
        lastCommit[speaker.name] = request
        return request
    }
}
