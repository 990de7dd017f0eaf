import Foundation
import Gzip
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Synchronization
import Testing
import Vault

@testable import SyncService

/// When manifests are written, replaced and removed, with a cloud in memory and a clock that the tests move.
@Suite("Writing the manifests of groups")
struct ManifestWorkTests {
    private let server: TestServer
    private let alice: Phone
    private let clock = Clock()
    private let attempts = Attempts()

    private final class Clock: Sendable {
        let seconds = Atomic<Int64>(noon.secondsSince1970)
        var now: WireDate { WireDate(secondsSince1970: seconds.load(ordering: .relaxed)) }
        func advance(_ by: Int64) { seconds.add(by, ordering: .relaxed) }
    }

    private final class Attempts: Sendable {
        let outcomes = Mutex<[Bool]>([])
    }

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private var settings: ManifestSettings {
        get throws {
            let attempts = attempts
            return ManifestSettings(
                key: try server.keys.current.manifestKey(), intervalSeconds: 60, serverURL: "https://sync.example",
                observer: { outcome in attempts.outcomes.withLock { $0.append(outcome) } })
        }
    }

    /// Looks for changed groups, and works until nothing is due.
    /// - Returns: the number of changed groups.
    @discardableResult
    private func work(settings: ManifestSettings? = nil) throws -> Int {
        let (log, clock) = (server.log, clock)
        let found = try ManifestScan(store: server.store, intervalSeconds: 60, now: { clock.now }).run()
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: nil,
            manifests: try settings ?? self.settings, leaseOwner: UUID().uuidString, now: { clock.now },
            logger: Logger(label: "jobs", factory: { _ in log }))
        while try worker.run(transport: .unused) > 0 {}
        return found
    }

    /// The manifests in the cloud, the newest last.
    private func manifests() throws -> [(header: ManifestHeader, members: [ManifestMember], files: [ManifestFile])] {
        let key = try settings.key.publicKey
        return try server.cloud.objects.values.filter { $0.starts(with: [0x1F, 0x8B]) }.map { bytes in
            var lines = try GzipLineReader(reading: bytes)
            var (reader, digest) = (ManifestReader(), StorableDigest(.sha256))
            var (header, members, files) = (nil as ManifestHeader?, [ManifestMember](), [ManifestFile]())
            while let line = try lines.next() {
                switch try reader.read(line) {
                case .header(let read): header = read
                case .member(let member): members.append(member)
                case .files(let read): files += read
                case .signature(let signature):
                    let message = GroupManifest.signedMessage(sha256: digest.finish())
                    #expect(Ed25519Key.verifies(signature, over: message, by: key))
                case .unknown: Issue.record("unknown line")
                }
                digest.update(line + [0x0A])
            }
            try reader.end()
            return (try #require(header), members, files)
        }.sorted { $0.header.masterVersion < $1.header.masterVersion }
    }

    private func publish(_ file: FileUUID = someFile(), from version: Int64) {
        #expect(server.upload(someBytes(7), of: file, master: version, by: alice).status == 200)
        #expect(server.commit(from: version, by: alice).status == 200)
    }

    @Test("After a commit, the manifest states the group, its members and its files")
    func contents() throws {
        let bob = try server.join(alice, as: "bob", .read)
        let file = someFile()
        publish(file, from: 1)
        #expect(try work() == 1)

        let manifest = try #require(try manifests().first)
        #expect(manifest.header.groupUUID == alice.group)
        #expect(manifest.header.masterVersion == MasterVersion(2))
        #expect(manifest.header.serverURL == "https://sync.example")
        #expect(manifest.members.map(\.permission) == [.admin, .read])
        #expect(manifest.members.map(\.isOwning) == [true, false])
        let ids = [try server.userID(of: alice), try server.userID(of: bob)]
        #expect(manifest.members.map(\.userID) == ids)
        #expect(manifest.members[1].owningUserID == ids[0])
        // The reader's own account is named; another's is only recognised.
        #expect(manifest.members.map { $0.account?.type } == [.google, nil])
        let account = try #require(manifest.members[0].account)
        let input = GroupManifest.identityInput(
            salt: manifest.header.salt, accountType: account.type, accountID: account.id)
        #expect(manifest.members[0].identity == Array(IncrementalDigest.digest(of: input, .sha256).prefix(16)))
        #expect(manifest.members[1].identity != manifest.members[0].identity)

        #expect(manifest.files.count == 1)
        let stated = try #require(manifest.files.first)
        #expect(stated.fileUUID == file)
        #expect(stated.owner == .init(userID: ids[0], storageType: .google))
        #expect(stated.sizeBytes == Int64(someBytes(7).count))
        #expect(stated.checkSumBytes == Array([UInt8](hexadecimal: md5(someBytes(7)))!.prefix(8)))
        #expect(stated.state == .stored)
        #expect(server.cloud.names.contains(stated.cloudName))
        #expect(server.cloud.names.contains { ManifestName($0)?.groupUUID == alice.group })
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("A manifest lists its members' other groups, new ones too: readable for the owner, sealed for others")
    func otherGroups() throws {
        let bob = try server.join(alice, as: "bob")
        publish(from: 1)
        try work()
        clock.advance(600)
        try work()
        let stated = try #require(try manifests().last)
        #expect(stated.members[0].otherGroups == .listed([]))
        // Bob joins another group, which has no files yet.
        let carol = try server.signUp("carol")
        let invitation =
            server.send(
                CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: carol.group), as: carol
            ).json["sharingInvitationUUID"] as? String
        let code = try #require(invitation.flatMap { SharingInvitationUUID($0) })
        try #require(server.send(RedeemSharingInvitationRequest(sharingInvitationUUID: code), as: bob).status == 200)
        try work()
        #expect(try manifests().count == 1)

        #expect(server.upload(someBytes(5), of: someFile(), master: 1, by: carol).status == 200)
        #expect(server.commit(from: 1, by: carol).status == 200)
        clock.advance(600)
        // The scan of Carol's group finds that it is missing from the manifest of Alice's group.
        #expect(try work() == 1 && work() == 1)
        #expect(try work() == 0)
        let (vault, number) = (server.services.storage.vault, try server.userID(of: bob))
        var found: [[SharingGroupUUID]] = []
        for manifest in try manifests() where manifest.header.groupUUID == alice.group {
            #expect(manifest.members[0].otherGroups == .listed([]))
            guard case .sealed(let sealed) = manifest.members[1].otherGroups else {
                Issue.record("not sealed")
                return
            }
            found.append(try #require(vault.openOtherGroups(sealed, of: number, in: alice.group)))
            #expect(vault.openOtherGroups(sealed, of: number, in: carol.group) == nil)
        }
        // The previous manifest, and the new one.
        #expect(found.sorted { $0.count < $1.count } == [[], [carol.group]])
    }

    @Test("An unchanged group gets no new manifest; changes within a minute share one")
    func debounce() throws {
        publish(from: 0)
        try work()
        let first = server.cloud.names
        clock.advance(600)
        #expect(try work() == 0)
        #expect(server.cloud.names.sorted() == first.sorted())

        publish(from: 1)
        try work()
        clock.advance(1)
        publish(from: 2)
        try work()
        // The second was written at once, since ten minutes had passed; the third waits.
        #expect(try manifests().map(\.header.masterVersion.rawValue) == [1, 2])
        publish(from: 3)
        clock.advance(58)
        try work()
        #expect(try manifests().map(\.header.masterVersion.rawValue) == [1, 2])
        clock.advance(1)
        try work()
        #expect(try manifests().map(\.header.masterVersion.rawValue) == [2, 4])
        #expect(attempts.outcomes.withLock { $0 } == [true, true, true])
    }

    @Test("Constant changes cause one manifest a minute, then one more, and none while nothing changes")
    func constantWriting() throws {
        for version in 0..<60 {
            publish(from: Int64(version))
            try work()
            clock.advance(5)
        }
        // Five minutes: the first at once, and one at the end of each minute.
        #expect(attempts.outcomes.withLock { $0 } == [true, true, true, true, true])
        clock.advance(60)
        try work()
        #expect(try manifests().last?.header.masterVersion == MasterVersion(60))

        func requests() -> [Int] {
            [attempts.outcomes.withLock(\.count), server.cloud.describeCalls, server.cloud.deleted.count]
        }
        let before = (requests(), server.cloud.names.sorted())
        for _ in 0..<60 {
            clock.advance(60)
            #expect(try work() == 0)
        }
        #expect(attempts.outcomes.withLock { $0.count } == 6)
        #expect(before == (requests(), server.cloud.names.sorted()))
    }

    @Test("A group that exceeds the limits gets no new manifest, and keeps its previous one")
    func tooLarge() throws {
        publish(from: 0)
        try work()
        publish(from: 1)
        for limit in [\ManifestSettings.maximumFiles, \.maximumTextBytes] {
            var limited = try settings
            limited[keyPath: limit] = 1
            clock.advance(60)
            try server.execute("DELETE FROM manifest_scans")
            #expect(try work(settings: limited) == 1)
            #expect(try manifests().map(\.header.masterVersion.rawValue) == [1])
            #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
        }
        #expect(server.log.text.contains("Manifest not written: it would be too large"))
        try server.execute("DELETE FROM manifest_scans")
        try work()
        #expect(try manifests().map(\.header.masterVersion.rawValue) == [1, 2])
    }

    @Test("The previous manifest is kept, and the one before is deleted", arguments: [false, true])
    func previous(hasUniqueNames: Bool) throws {
        server.cloud.behaviour.hasUniqueNames = hasUniqueNames
        for version in 0..<4 {
            publish(from: Int64(version))
            clock.advance(60)
            try work()
        }
        #expect(try manifests().map(\.header.masterVersion.rawValue) == [3, 4])
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test(
        "An attempt that dies after the upload leaves no object behind, and is made up for", arguments: [false, true])
    func interrupted(hasUniqueNames: Bool) throws {
        server.cloud.behaviour.hasUniqueNames = hasUniqueNames
        publish(from: 0)
        let server = server
        // As if this process had lost its leases, and the database had stopped answering it.
        server.cloud.behaviour.afterUpload = {
            #expect(throws: Never.self) {
                try server.execute("UPDATE outbox SET lease_owner = 'other', available_at = '2026-01-01'")
            }
        }
        try work()
        server.cloud.behaviour.afterUpload = nil
        clock.advance(7_200)
        try work()

        #expect(try manifests().map(\.header.masterVersion.rawValue) == [1])
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
        #expect(try server.count("SELECT COUNT(*) FROM manifests") == 1)
    }

    @Test("A refusal is retried, without another attempt before its time")
    func refused() throws {
        publish(from: 0)
        server.cloud.behaviour.uploadFailure = .authorizationRevoked
        try work()
        try work()
        #expect(attempts.outcomes.withLock { $0 } == [false])
        #expect(try manifests().isEmpty)

        server.cloud.behaviour.uploadFailure = nil
        clock.advance(86_400)
        try work()
        #expect(try manifests().count == 1)
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("The next manifest does not contain a member who has left")
    func memberLeaves() throws {
        let bob = try server.join(alice, as: "bob")
        publish(from: 1)
        try work()
        #expect(server.send(RemoveUserRequest(), as: bob).status == 200)
        clock.advance(60)
        try work()
        #expect(try manifests().last?.members.count == 1)
    }

    @Test("Deleted files are marked as deleted, and an owner without files has no manifest")
    func noFiles() throws {
        let (first, second) = (someFile(), someFile())
        publish(first, from: 0)
        publish(second, from: 1)
        try work()
        func delete(_ file: FileUUID, from version: Int64) {
            let request = UploadDeletionRequest(
                fileUUID: file, fileVersion: FileVersion(0), masterVersion: MasterVersion(version),
                sharingGroupUUID: alice.group)
            #expect(server.send(request, as: alice).status == 200)
            #expect(server.commit(from: version, by: alice).status == 200)
            clock.advance(60)
        }
        delete(first, from: 2)
        try work()
        let states = try manifests().last?.files.map { ($0.fileUUID == first, $0.state) } ?? []
        #expect(states.contains { $0 == (true, .deleted) } && states.contains { $0 == (false, .stored) })

        delete(second, from: 3)
        try work()
        #expect(try manifests().isEmpty)
        #expect(try server.count("SELECT COUNT(*) FROM manifests") == 0)
    }

    @Test("Removing a group or its owner deletes the manifests", arguments: [false, true])
    func groupEnds(byRemovingUser: Bool) throws {
        publish(from: 0)
        try work()
        publish(from: 1)
        clock.advance(60)
        try work()
        #expect(try manifests().count == 2)
        let reply =
            byRemovingUser
            ? server.send(RemoveUserRequest(), as: alice)
            : server.send(
                RemoveSharingGroupRequest(sharingGroupUUID: alice.group, masterVersion: MasterVersion(2)), as: alice)
        #expect(reply.status == 200)
        try work()
        #expect(try manifests().isEmpty)
        #expect(try server.count("SELECT COUNT(*) FROM manifests") == 0)
        // The files are the person's own.
        #expect(server.cloud.objects.count == 2)
    }
}
