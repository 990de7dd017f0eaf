import Foundation
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

/// People share groups, the server is destroyed at a random moment, and another one is rebuilt while they return in any
/// order and their storage fails now and then. Everything in the manifests must be restored, and nobody may ever see
/// less.
///
/// `SYNC_REBUILD_HISTORIES=5000 swift test --filter RebuildHistoriesTests` plays more histories.
@Suite("Random histories of a rebuilt server")
struct RebuildHistoriesTests {
    private static let histories =
        ProcessInfo.processInfo.environment["SYNC_REBUILD_HISTORIES"].flatMap { UInt64($0) } ?? 25

    @Test("In any order of return, everything in the manifests is restored, and no list ever lacks a group")
    func histories() throws {
        let lost = try TestServer(quotas: .unlimited, watchesMaintenance: true)
        let rebuilt = try TestServer(signInTimeToLive: .zero, quotas: .unlimited, watchesMaintenance: true)
        var (groups, held) = (0, 0)
        for seed in 0..<Self.histories {
            var history = RebuildHistory(seed: seed, lost: lost, rebuilt: rebuilt)
            try history.play()
            // Further histories would only repeat the failure.
            guard !history.hasFailed else { return }
            groups += history.comparedGroups
            held += history.heldLooks
        }
        // The histories must have compared groups, and held people.
        #expect(groups > Int(Self.histories) && held > Int(Self.histories))
    }
}

/// One history, determined by its seed.
private struct RebuildHistory {
    /// A group as one member sees it.
    private struct View: Equatable {
        var permission: String?
        var masterVersion: Int64?
        var members: Set<String>
        var files: [String: Entry]

        struct Entry: Equatable {
            var version: Int
            var isDeleted: Bool
            var owner: Int64?
        }
    }

    /// The groups that each person sees, by UUID.
    private typealias Views = [String: [String: View]]

    private let seed: UInt64
    private var random: SplitMix
    private let lost: TestServer
    private let rebuilt: TestServer
    private let people: [Phone]
    /// The bytes of every version ever uploaded, by file and version.
    private var bytes: [String: [UInt8]] = [:]
    private var uploads = 0
    private(set) var hasFailed = false
    /// The number of groups that were compared, and of looks at which the server still held somebody who had returned.
    private(set) var comparedGroups = 0
    private(set) var heldLooks = 0

    init(seed: UInt64, lost: TestServer, rebuilt: TestServer) {
        self.seed = seed
        random = SplitMix(state: seed)
        self.lost = lost
        self.rebuilt = rebuilt
        people = ["a", "b", "c", "d", "e"].map { name in
            Phone(name: name, accountType: name < "d" ? .google : .facebook)
        }
    }

    private mutating func check(_ condition: Bool, _ comment: @autoclosure () -> String) {
        guard !condition else { return }
        hasFailed = true
        Issue.record("seed \(seed): \(comment())")
    }

    // MARK: The story

    mutating func play() throws {
        for server in [lost, rebuilt] {
            let tables = RoleRights.tables.filter { !$0.hasPrefix("schema_") }
            try server.execute("SET FOREIGN_KEY_CHECKS = 0;" + tables.map { "DELETE FROM \($0);" }.joined())
            for object in server.cloud.objects.keys { server.cloud.replace(object, by: nil) }
            server.cloud.behaviour = .init()
            server.services.maintenance?.refresh()
        }
        for person in people.filter({ $0.accountType == .google }) {
            _ = lost.send(AddUserRequest(sharingGroupUUID: person.group, cloudFolderName: "F"), as: person)
        }
        for _ in 0..<Int.random(in: 5...40, using: &random) { try change() }
        try writeManifests()
        let stated = views(of: lost).mapValues { groups in
            groups.filter { $0.value.files.values.contains { !$0.isDeleted } }
        }
        // Changes after the last manifest are lost, unless devices have them.
        if Bool.random(using: &random) { for _ in 0..<Int.random(in: 1...5, using: &random) { try change() } }
        try rebuild(stated)
    }

    /// One change by a random person, which the server may refuse.
    private mutating func change() throws {
        let views = views(of: lost)
        guard let person = people.filter({ views[$0.name]?.isEmpty == false }).randomElement(using: &random),
            let (uuid, view) = views[person.name]?.sorted(by: { $0.key < $1.key }).randomElement(using: &random),
            let group = SharingGroupUUID(uuid), let version = view.masterVersion
        else { return }
        let master = MasterVersion(version)
        let known = view.files.filter { !$0.value.isDeleted }.sorted { $0.key < $1.key }.randomElement(using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: try upload(someFile(), version: 0, to: group, from: version, by: person)
        case 8..<11:
            guard let known, let file = FileUUID(known.key) else { return }
            try upload(file, version: Int32(known.value.version) + 1, to: group, from: version, by: person)
        case 11..<13:
            guard let known, let file = FileUUID(known.key) else { return }
            let deletion = UploadDeletionRequest(
                fileUUID: file, fileVersion: FileVersion(Int32(known.value.version)), masterVersion: master,
                sharingGroupUUID: group)
            guard lost.send(deletion, as: person).status == 200 else { return }
            _ = lost.commit(from: version, by: person.with(group))
        case 13..<17: invite(to: group, by: person)
        case 17:
            _ = lost.send(RemoveUserFromSharingGroupRequest(sharingGroupUUID: group, masterVersion: master), as: person)
        case 18:
            _ = lost.send(CreateSharingGroupRequest(sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!), as: person)
        default:
            guard Bool.random(using: &random) else { return try writeManifests() }
            _ = lost.send(RemoveSharingGroupRequest(sharingGroupUUID: group, masterVersion: master), as: person)
        }
    }

    private mutating func upload(
        _ file: FileUUID, version: Int32, to group: SharingGroupUUID, from master: Int64, by person: Phone
    ) throws {
        uploads += 1
        // No two files have the same bytes.
        let contents = someBytes(10 * uploads + Int.random(in: 0..<10, using: &random))
        let member = person.with(group)
        guard lost.upload(contents, of: file, version: version, master: master, by: member).status == 200 else {
            return
        }
        let committed = lost.commit(from: master, by: member)
        if committed.status == 200 { bytes["\(file.rawValue) \(version)"] = contents }
    }

    private mutating func invite(to group: SharingGroupUUID, by person: Phone) {
        let permission: Permission = [.read, .write, .admin].randomElement(using: &random) ?? .read
        let code =
            lost.send(
                CreateSharingInvitationRequest(permission: permission, sharingGroupUUID: group), as: person
            ).json["sharingInvitationUUID"] as? String
        guard let invitation = code.flatMap({ SharingInvitationUUID($0) }),
            let guest = people.randomElement(using: &random)
        else { return }
        let folder = guest.accountType == .google ? "F" : nil
        _ = lost.send(
            RedeemSharingInvitationRequest(sharingInvitationUUID: invitation, cloudFolderName: folder), as: guest)
    }

    // MARK: Servers

    private func views(of server: TestServer) -> Views {
        var views: Views = [:]
        for person in people {
            let list = server.send(IndexRequest(), as: person)
            guard list.status == 200 else { continue }
            views[person.name] = [:]
            for group in list.json["sharingGroups"] as? [[String: Any]] ?? [] {
                guard let uuid = group["sharingGroupUUID"] as? String else { continue }
                let index = server.send(IndexRequest(sharingGroupUUID: SharingGroupUUID(uuid)), as: person).json
                var files: [String: View.Entry] = [:]
                for file in index["fileIndex"] as? [[String: Any]] ?? [] {
                    files[file["fileUUID"] as? String ?? ""] = View.Entry(
                        version: file["fileVersion"] as? Int ?? -1, isDeleted: file["deleted"] as? Bool ?? false,
                        owner: file["owningUserId"] as? Int64)
                }
                let members = group["sharingGroupUsers"] as? [[String: Any]] ?? []
                views[person.name]?[uuid] = View(
                    permission: group["permission"] as? String, masterVersion: index["masterVersion"] as? Int64,
                    members: Set(members.compactMap { $0["name"] as? String }), files: files)
            }
        }
        return views
    }

    private func work(_ server: TestServer, writesManifests: Bool = false) throws {
        let log = server.log
        let settings = ManifestSettings(
            key: try server.keys.current.manifestKey(), intervalSeconds: 0, serverURL: nil)
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: nil,
            manifests: writesManifests ? settings : nil, leaseOwner: UUID().uuidString, now: { noon },
            logger: Logger(label: "jobs", factory: { _ in log }))
        while try worker.run(transport: .unused) > 0 {}
    }

    private func writeManifests() throws {
        let scan = ManifestScan(store: lost.store, intervalSeconds: 0, now: { noon })
        while try scan.run() > 0 {}
        try work(lost, writesManifests: true)
    }

    // MARK: The rebuild

    private mutating func rebuild(_ stated: Views) throws {
        try rebuilt.beginRebuild(of: lost)

        var come: [Phone] = []
        for person in people.shuffled(using: &random) {
            come.append(person)
            for visitor in come.shuffled(using: &random) { look(as: visitor, stated) }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: rebuilt.cloud.behaviour.listFailure = .unavailable(detail: "a fault")
            case 1: rebuilt.cloud.behaviour.downloadBreaksAfterBytes = Int.random(in: 0...400, using: &random)
            default: break
            }
            if Bool.random(using: &random) { try work(rebuilt) }
            rebuilt.cloud.behaviour = .init()
            try rebuilt.execute("UPDATE outbox SET available_at = '2026-01-01'")
        }
        let expected = stated.filter { !$0.value.isEmpty }
        for _ in 0..<6 {
            for person in people { look(as: person, stated) }
            try work(rebuilt)
        }
        comparedGroups = Set(expected.values.flatMap(\.keys)).count
        let found = views(of: rebuilt)
        check(found == expected, "differs: \(Self.difference(found, expected))")
        try compareBytes(expected)
    }

    /// Requests the lists as an app would: the server must list everything, or reply `restoring`.
    private mutating func look(as person: Phone, _ stated: Views) {
        let reply = rebuilt.send(IndexRequest(), as: person)
        guard reply.status == 200 else {
            heldLooks += 1
            return check(reply.status == 503 && reply.code == "restoring", "\(person.name) gets \(reply.json)")
        }
        let groups = reply.json["sharingGroups"] as? [[String: Any]] ?? []
        let listed = Set(groups.compactMap { $0["sharingGroupUUID"] as? String })
        let wanted = stated[person.name] ?? [:]
        check(listed == Set(wanted.keys), "\(person.name) sees \(listed) in place of \(Set(wanted.keys))")
        for (uuid, view) in wanted {
            let index = rebuilt.send(IndexRequest(sharingGroupUUID: SharingGroupUUID(uuid)), as: person).json
            let files = index["fileIndex"] as? [[String: Any]] ?? []
            let live = Set(files.filter { $0["deleted"] as? Bool != true }.compactMap { $0["fileUUID"] as? String })
            check(live == Set(view.files.filter { !$0.value.isDeleted }.keys), "\(person.name) lacks files of \(uuid)")
        }
    }

    private mutating func compareBytes(_ expected: Views) throws {
        let stored = Set(rebuilt.cloud.objects.values)
        for person in people {
            for (uuid, view) in expected[person.name] ?? [:] {
                for (file, entry) in view.files where !entry.isDeleted {
                    guard let group = SharingGroupUUID(uuid), let fileUUID = FileUUID(file) else { continue }
                    let request = DownloadFileRequest(
                        fileUUID: fileUUID, fileVersion: FileVersion(Int32(entry.version)),
                        masterVersion: MasterVersion(view.masterVersion ?? 0), sharingGroupUUID: group)
                    let (reply, wanted) = (rebuilt.send(request, as: person), bytes["\(file) \(entry.version)"] ?? [])
                    // An object that was replaced or deleted after the last manifest is gone, and waits for its bytes.
                    check(reply.body == wanted || !stored.contains(wanted), "\(file) differs: \(reply.json)")
                }
            }
        }
    }

    private static func difference(_ found: Views, _ expected: Views) -> String {
        for person in Set(found.keys).union(expected.keys).sorted() {
            let (here, wanted) = (found[person] ?? [:], expected[person] ?? [:])
            for group in Set(here.keys).union(wanted.keys).sorted() where here[group] != wanted[group] {
                return "\(person), \(group): \(String(describing: here[group])) in place of "
                    + String(describing: wanted[group])
            }
        }
        return "\(found.keys.sorted()) in place of \(expected.keys.sorted())"
    }
}

extension Phone {
    fileprivate func with(_ group: SharingGroupUUID) -> Phone {
        var copy = self
        copy.group = group
        return copy
    }
}
