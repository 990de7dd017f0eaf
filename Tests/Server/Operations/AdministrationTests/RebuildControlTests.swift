import Foundation
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import Operations

/// The operator's commands during a rebuild.
@Suite("The operator and a rebuild")
struct RebuildControlTests {
    private static let now = AdministrationFixture.now
    private static let group = SharingGroupUUID(AdministrationFixture.group)!
    private static let key = [UInt8](repeating: 9, count: 32)

    private func begin(_ fixture: AdministrationFixture, holds: Bool = false) throws -> RebuildControl {
        let control = RebuildControl(store: fixture.store)
        try control.begin(keys: [Self.key], cloudFolderName: "F", holdsEveryone: holds, at: Self.now)
        return control
    }

    @Test("A rebuild of an empty database skips the numbers of lost users, and trusts the given keys")
    func empty() throws {
        let fixture = try AdministrationFixture(populated: false)
        let control = try begin(fixture, holds: true)

        let status = try control.status()
        #expect(status.begunAt == Self.now && status.endedAt == nil)
        #expect(status.cloudFolderName == "F" && status.holdsEveryone)
        #expect(status.keys == [GroupManifest.text(ofPublicKey: Self.key)])
        #expect(status.text.contains("nobody is served"))
        let user = try fixture.store.transaction { session in
            try session.addUser(.dropbox, "d", displayName: "D", cloudFolderName: nil, at: Self.now)
        }
        #expect(user.rawValue >= 1_000_000_000)
        let mode = try #require(try fixture.store.withSession { try $0.rebuildMode() })
        #expect(mode.isOn && mode.firstNewUser <= user)
        #expect(throws: RebuildControl.Failure.alreadyBegun(since: Self.now)) {
            try control.begin(keys: [], cloudFolderName: nil, holdsEveryone: false, at: Self.now)
        }
    }

    @Test("A database in use is not rebuilt; a restored one is, and its groups become read-only")
    func restored() throws {
        let fixture = try AdministrationFixture()
        #expect(throws: RebuildControl.Failure.notMarked) { try begin(fixture) }
        #expect(try RebuildControl(store: fixture.store).status().text == "no rebuild")

        _ = try Restorer.markRestored(fixture.store, stateOf: Self.now)
        let control = try begin(fixture)
        let group = try #require(try control.status().groups.first)
        #expect(group.state == "restoring" && group.absentOwners == "Alice Example")
        let membership = try #require(
            try fixture.store.withSession { try $0.membership(of: AdministrationFixture.alice, in: Self.group) })
        #expect(membership.permission == .read)
        // Alice's folder contains no newer manifest: once she has returned, no owner is missing.
        let alice = try #require(try fixture.store.withSession { try $0.user(AdministrationFixture.alice) })
        try fixture.store.transaction { session in
            try session.addRebuildVisit(of: alice, isProvisional: false, at: Self.now)
            try session.endRebuildVisit(of: alice.userID, at: Self.now)
            try session.completeIfAllHaveCome(membership.groupID, at: Self.now)
        }
        #expect(try control.status().groups.map(\.state) == ["complete"])
        #expect(try control.status().visitors.map(\.state) == ["read"])
    }

    @Test("A rebuild does not change a restored group that people have changed since")
    func changedSince() throws {
        let fixture = try AdministrationFixture()
        _ = try Restorer.markRestored(fixture.store, stateOf: Self.now)
        try fixture.run("UPDATE sharing_groups SET master_version = master_version + 1")
        let control = try begin(fixture)
        #expect(try control.status().groups.isEmpty)
        #expect(try fixture.number("SELECT COUNT(*) FROM sharing_groups WHERE is_restoring") == 0)
    }

    @Test("Only manifests that were found are trusted without a signature, and their folders are read again")
    func trust() throws {
        let fixture = try AdministrationFixture()
        let control = RebuildControl(store: fixture.store)
        #expect(throws: RebuildControl.Failure.notBegun) { try control.trust(Self.group, at: Self.now) }
        _ = try Restorer.markRestored(fixture.store, stateOf: Self.now)
        _ = try begin(fixture)
        #expect(throws: RebuildControl.Failure.noClaim(Self.group)) { try control.trust(Self.group, at: Self.now) }

        let claim = RebuildClaim(
            groupUUID: Self.group, userID: AdministrationFixture.alice, digest: [UInt8](repeating: 1, count: 32),
            groupName: "Holidays\u{1B}[31m", masterVersion: MasterVersion(7), writtenAt: Self.now, members: 2,
            adminNames: "Mallory", liveFiles: 3)
        try fixture.store.transaction { try $0.note(claim, at: Self.now) }
        let shown = try control.status()
        #expect(shown.claims.first?.adminNames == "Mallory" && shown.claims.first?.isTrusted == false)
        #expect(shown.text.contains("NOT TRUSTED") && !shown.text.contains("\u{1B}"))
        try control.trust(Self.group, at: Self.now)
        #expect(try control.status().claims.first?.isTrusted == true)
        #expect(try fixture.store.withSession { try $0.trustedClaims(of: claim.userID) } == [claim.digest])
        #expect(try fixture.number("SELECT COUNT(*) FROM outbox WHERE kind = 'readManifests'") == 1)
    }

    @Test("The operator can open a group, or replace a diverged group by its newer state")
    func finish() throws {
        let fixture = try AdministrationFixture()
        _ = try Restorer.markRestored(fixture.store, stateOf: Self.now)
        let control = try begin(fixture)
        let unknown = SharingGroupUUID("unknown")!
        #expect(throws: RebuildControl.Failure.noSuchGroup(unknown)) {
            try control.finish(unknown, takesNewest: false, at: Self.now)
        }
        #expect(throws: RebuildControl.Failure.notDiverged(Self.group)) {
            try control.finish(Self.group, takesNewest: true, at: Self.now)
        }
        try fixture.run(
            "UPDATE rebuild_groups SET state = 'diverged'; UPDATE sharing_groups SET master_version = 9")
        #expect(try !control.status().isGood)
        try control.finish(Self.group, takesNewest: true, at: Self.now)
        let present = try fixture.store.transaction { try $0.rebuildGroup(Self.group) }
        #expect(present?.state == .restoring && present?.isUnchangedHere == true)
        try control.finish(Self.group, takesNewest: false, at: Self.now)
        #expect(try control.status().groups.map(\.state) == ["finished"])
        #expect(throws: RebuildControl.Failure.notRestoring(Self.group)) {
            try control.finish(Self.group, takesNewest: false, at: Self.now)
        }
    }

    @Test("People wait for missing groups until these are back, or the operator gives them up; end refuses until then")
    func missingGroups() throws {
        let fixture = try AdministrationFixture()
        _ = try Restorer.markRestored(fixture.store, stateOf: Self.now)
        let control = try begin(fixture)
        let missing = SharingGroupUUID("99999999-2222-3333-4444-555555555555")!
        try fixture.run(
            """
            INSERT INTO rebuild_awaited (stated_by, user_id, sharing_group_uuid)
            VALUES (1, 7, '\(missing.rawValue)'), (2, 7, '\(missing.rawValue)'), (1, 8, '\(missing.rawValue)'),
                   (1, 8, '\(Self.group.rawValue)'), (1, 9, '')
            """)
        let status = try control.status()
        #expect(status.awaited.map(\.sharingGroupUUID) == [nil, missing] && status.awaited.map(\.people) == [1, 2])
        #expect(status.text.contains(missing.rawValue) && status.text.contains("unknown ones"))
        let progress = try #require(try fixture.store.withSession { try $0.rebuildProgress() })
        #expect(progress.missingGroups == 1 && progress.groups == ["restoring": 1] && progress.unreadFolders == 0)
        #expect(progress.diagnosis.finding.contains("1 missing"))
        #expect(throws: RebuildControl.Failure.stillAwaited(1)) { try control.end(isForced: false, at: Self.now) }

        try control.finish(missing, takesNewest: false, at: Self.now)
        #expect(try control.status().awaited.map(\.sharingGroupUUID) == [nil])
        #expect(throws: RebuildControl.Failure.noSuchGroup(missing)) {
            try control.finish(missing, takesNewest: false, at: Self.now)
        }
        try control.end(isForced: false, at: Self.now)
        #expect(try control.status().awaited.isEmpty)
        #expect(try fixture.store.withSession { try $0.rebuildProgress() } == nil)
    }

    @Test("A forced end opens all groups; people whose folders were not read become strangers")
    func end() throws {
        let fixture = try AdministrationFixture()
        _ = try Restorer.markRestored(fixture.store, stateOf: Self.now)
        let control = try begin(fixture)
        try fixture.store.transaction { session in
            let id = try session.addUser(.dropbox, "d", displayName: "D", cloudFolderName: nil, at: Self.now)
            guard let user = try session.user(id) else { return }
            try session.addRebuildVisit(of: user, isProvisional: true, at: Self.now)
        }
        #expect(throws: RebuildControl.Failure.stillReading(1)) { try control.end(isForced: false, at: Self.now) }
        try control.end(isForced: true, at: Self.now)

        let status = try control.status()
        #expect(status.endedAt == Self.now && status.groups.map(\.state) == ["finished"])
        #expect(status.visitors.map(\.state) == ["stranger"])
        #expect(try fixture.number("SELECT COUNT(*) FROM users WHERE account_type = 'Dropbox'") == 0)
        #expect(try fixture.number("SELECT COUNT(*) FROM sharing_groups WHERE is_restoring") == 0)
        #expect(try fixture.number("SELECT COUNT(*) FROM outbox WHERE kind = 'readManifests'") == 0)
        #expect(throws: RebuildControl.Failure.notBegun) { try control.end(isForced: true, at: Self.now) }
        // Another rebuild may begin later.
        _ = try begin(fixture)
    }
}
