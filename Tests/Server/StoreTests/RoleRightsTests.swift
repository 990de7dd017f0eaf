import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Privileges of each role in the database")
struct RoleRightsTests {
    /// A database with an account for each role, which has the rights in ``RoleRights``.
    private struct Accounts {
        let fixture: StoreFixture
        let settings: [ServerRole: ConnectionSettings]

        init() throws {
            fixture = try StoreFixture(connections: 1)
            let database = try #require(fixture.settings.database)
            var administrator = try Connection(fixture.settings)
            var settings: [ServerRole: ConnectionSettings] = [:]
            for role in ServerRole.allCases {
                let user = "\(database)_\(role.rawValue)"
                try administrator.executeScript("CREATE USER \(user)@localhost IDENTIFIED BY 'p'")
                var account = fixture.settings
                account.user = user
                account.password = "p"
                settings[role] = account
            }
            self.settings = settings
        }

        func rights(_ role: ServerRole) throws -> AccountRights {
            try AccountRights(of: role, #require(settings[role]))
        }
    }

    /// A statement that needs a right and changes nothing.
    private static func statement(_ right: TableRight, _ table: String) -> String {
        switch right {
        case .select: "SELECT 1 FROM `\(table)` LIMIT 1"
        case .insert: "INSERT INTO `\(table)` SELECT * FROM `\(table)` WHERE FALSE"
        case .update: "UPDATE `\(table)` SET \(columns[table] ?? "user_id") = NULL WHERE FALSE"
        case .delete: "DELETE FROM `\(table)` WHERE FALSE"
        }
    }

    /// For tables without a user column.
    private static let columns = [
        "schema_migrations": "name", "schema_lease": "owner", "sharing_groups": "name", "memberships": "permission",
        "invitations": "permission", "files": "mime_type", "exchanged_codes": "lease_owner", "quota_windows": "uses",
        "apple_notices": "handled_at", "content_hashes": "object_id", "imported_groups": "imported_at",
        "gone_contents": "reason", "key_holders": "role", "rebuilds": "begun_at", "rebuild_groups": "state",
        "rebuild_files": "object_name",
    ]

    private func isDenied(_ statement: String, to connection: inout Connection) throws -> Bool {
        do {
            try connection.executeScript(statement)
        } catch .accessDenied {
            return true
        } catch {
            // Other mistakes of the statement are found only if the account may run it.
            return false
        }
        return false
    }

    @Test("Every table of the schema has a row")
    func tables() throws {
        let fixture = try StoreFixture(connections: 1)
        var connection = try Connection(fixture.settings)
        var tables: Set<String> = []
        try connection.query(
            "SELECT table_name FROM information_schema.TABLES WHERE table_schema = DATABASE()"
        ) { (row) throws(MariaDBError) in tables.insert(try row.text(0)) }

        #expect(tables == Set(RoleRights.tables))
        #expect(RoleRights.tables.count == tables.count)
    }

    @Test("An account gets its role's privileges and loses others; then nothing remains to be done")
    func settle() throws {
        let accounts = try Accounts()
        var administrator = try Connection(accounts.fixture.settings)
        for role in ServerRole.allCases {
            let user = try #require(accounts.settings[role]).user
            try administrator.executeScript("GRANT DELETE ON schema_lease TO \(user)@localhost")
            let before = try accounts.rights(role)
            #expect(before.surplus == [AccountRights.Grant(.delete, "schema_lease")])
            #expect(before.account == "\(user)@localhost")

            #expect(try before.settle(as: accounts.fixture.settings))

            #expect(try accounts.rights(role).areExact)
            #expect(try !accounts.rights(role).settle(as: accounts.fixture.settings))
            // Also where only an excess exists.
            try administrator.executeScript("GRANT DELETE ON schema_lease TO \(user)@localhost")
            #expect(try accounts.rights(role).settle(as: accounts.fixture.settings))
            #expect(try accounts.rights(role).areExact)
        }
    }

    @Test("The jobs role may restore groups and members during a rebuild, and not afterwards")
    func rebuild() throws {
        let accounts = try Accounts()
        let settings = try #require(accounts.settings[.jobs])
        func settle() throws { _ = try accounts.rights(.jobs).settle(as: accounts.fixture.settings) }
        func mayAddMembers() throws -> Bool {
            var connection = try Connection(settings)
            return try !isDenied(Self.statement(.insert, "memberships"), to: &connection)
        }
        try settle()
        #expect(try !mayAddMembers())
        var administrator = try Connection(accounts.fixture.settings)
        try administrator.executeScript(
            """
            INSERT INTO rebuilds (rebuild_id, begun_at, holds_everyone, first_new_user_id)
            VALUES (1, '2026-01-01', FALSE, 1000000000)
            """)
        try settle()
        #expect(try mayAddMembers())
        #expect(try accounts.rights(.jobs).areExact)
        try administrator.executeScript("UPDATE rebuilds SET ended_at = '2026-01-02'")
        #expect(try accounts.rights(.jobs).surplus.contains(AccountRights.Grant(.insert, "memberships")))
        try settle()
        #expect(try !mayAddMembers())
    }

    @Test("Privileges outside the database's tables are reported and kept, because others granted them")
    func wider() throws {
        let accounts = try Accounts()
        let settings = try #require(accounts.settings[.jobs])
        _ = try accounts.rights(.jobs).settle(as: accounts.fixture.settings)
        let (database, other) = (try #require(settings.database), try StoreFixture(connections: 1))
        var administrator = try Connection(accounts.fixture.settings)
        try administrator.executeScript(
            """
            GRANT CREATE ON \(database).* TO \(settings.user)@localhost;
            GRANT PROCESS ON *.* TO \(settings.user)@localhost;
            GRANT SELECT ON \(try #require(other.settings.database)).users TO \(settings.user)@localhost
            """)

        let rights = try accounts.rights(.jobs)

        #expect(
            rights.wider == [
                "CREATE on the database \(database)", "PROCESS on the server", "SELECT on users",
            ])
        #expect(rights.surplus == [] && rights.missing == [])
        #expect(!rights.areExact)
        #expect(try !rights.settle(as: accounts.fixture.settings))
    }

    @Test("Each role has exactly the rights in the table", arguments: ServerRole.allCases)
    func enforced(role: ServerRole) throws {
        let accounts = try Accounts()
        let settings = try #require(accounts.settings[role])
        _ = try accounts.rights(role).settle(as: accounts.fixture.settings)
        var connection = try Connection(settings)

        for table in RoleRights.tables {
            let allowed = RoleRights.rights(of: role, to: table)
            for right in TableRight.allCases {
                // Statements that change rows also read them.
                let isAllowed = allowed.contains(right) && allowed.contains(.select)
                #expect(
                    try isDenied(Self.statement(right, table), to: &connection) == !isAllowed,
                    "\(role) \(right.rawValue) \(table)")
            }
        }
    }

    @Test(
        "Actions that no role of a hostile process can perform",
        arguments: [
            (ServerRole.jobs, "INSERT INTO invitations SELECT * FROM invitations WHERE FALSE"),
            (.jobs, "UPDATE memberships SET permission = 'admin'"),
            (.jobs, "INSERT INTO memberships SELECT * FROM memberships WHERE FALSE"),
            (.jobs, "DELETE FROM files WHERE FALSE"), (.jobs, "DELETE FROM users WHERE FALSE"),
            (.transfer, "SELECT 1 FROM invitations"), (.transfer, "SELECT 1 FROM push_registrations"),
            (.transfer, "UPDATE memberships SET permission = 'admin'"), (.transfer, "DELETE FROM users WHERE FALSE"),
            (.transfer, "SELECT 1 FROM departed_users"), (.api, "DELETE FROM files WHERE FALSE"),
            (.api, "DELETE FROM sharing_groups WHERE FALSE"), (.api, "DELETE FROM apple_notices WHERE FALSE"),
            (.api, "SELECT 1 FROM imported_users"), (.api, "UPDATE schema_migrations SET version = 1 WHERE FALSE"),
            (.api, "DROP TABLE outbox"), (.api, "CREATE TABLE mine (a INT)"),
            (.api, "ALTER TABLE users ADD COLUMN mine INT"), (.api, "TRUNCATE TABLE outbox"),
            (.api, "GRANT SELECT ON users TO CURRENT_USER"), (.api, "SELECT 1 FROM mysql.user"),
            (.jobs, "CREATE TRIGGER mine BEFORE INSERT ON users FOR EACH ROW SET NEW.display_name = 'x'"),
            (.transfer, "LOCK TABLES users WRITE"),
        ])
    func denied(role: ServerRole, statement: String) throws {
        let accounts = try Accounts()
        let settings = try #require(accounts.settings[role])
        _ = try accounts.rights(role).settle(as: accounts.fixture.settings)
        var connection = try Connection(settings)

        #expect(try isDenied(statement, to: &connection))
    }
}
