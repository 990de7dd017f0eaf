import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

/// A user in a separate database who switches accounts.
struct SwitchFixture {
    let fixture: StoreFixture
    let alice: Member

    init() throws {
        fixture = try StoreFixture(connections: 4)
        alice = try fixture.addOwner()
    }

    var user: UserRecord {
        get throws { try #require(try fixture.store.withSession { try $0.user(alice.user) }) }
    }

    /// Proposes a switch to a new account, by default at Dropbox.
    func propose(to id: String = "next", _ accountType: AccountType = .dropbox, folder: String? = nil) throws
        -> AccountSwitchID
    {
        let switchID = try #require(AccountSwitchID(someFile().rawValue))
        let account = ProposedAccount(
            accountType: accountType, providerUserID: id, cloudFolderName: folder, cloudFolderID: nil,
            credentials: [1], hasOfflineAccess: true)
        let user = try user
        try fixture.store.transaction { session in
            try session.propose(switchID, of: user, to: account, until: noon(plus: 86_400), at: noon)
        }
        return switchID
    }

    func confirm(_ id: AccountSwitchID, epoch: Int64 = 0, moving: RequestedMove? = nil) throws -> AccountSwitch {
        try fixture.store.transaction { session in
            try session.confirmSwitch(id, expecting: AccountEpoch(epoch), moving: moving, at: noon)
        }
    }

    /// Access to Alice's current account, as a confirmation receives it.
    func formerAccount() throws -> RequestedMove {
        let row = try #require(try fixture.store.withSession { try $0.credentialRow(of: alice.user) })
        return RequestedMove(former: FormerAccount(credentials: [9], version: row.version))
    }

    /// Adds `count` of Alice's files to her group, each with an object.
    func addFiles(_ count: Int) throws {
        var connection = try Connection(fixture.settings)
        _ = try connection.execute(
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, app_metadata, app_metadata_version, file_version, check_sum, size_bytes, object_id,
                    object_revision, changed_at_master_version)
            SELECT ?, CONCAT('00000000-0000-0000-0000-', LPAD(s.seq, 12, '0')), ?, 'Google',
                   '00000000-0000-0000-0000-000000000001', '2026-01-01', '2026-01-01', 'image/jpeg', REPEAT('m', 200), 0,
                   3, MD5(s.seq), 1000, CONCAT('object-with-an-identifier-', s.seq), 'r', 0
              FROM seq_1_to_20000 s
             WHERE s.seq <= ?
            """, [.int(alice.area.groupID.rawValue), .int(alice.user.rawValue), .int(Int64(count))])
    }
}
