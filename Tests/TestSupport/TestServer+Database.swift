import Foundation

extension TestServer {
    /// Runs a statement behind the server's back, as the database's administrator.
    ///
    /// For states that no phone can cause, such as elapsed time or very many rows.
    /// - Returns: the rows, one per line, without a final line end and without column names.
    public func askDatabase(_ statement: String) throws -> String {
        let command = try Command(
            "/usr/bin/mariadb",
            [
                "--no-defaults", "--socket=\(environment.value("DB_SOCKET"))", "--batch", "--skip-column-names",
                "--execute=\(statement)", environment.value("DB_NAME"),
            ])
        guard command.status == 0 else { throw DatabaseComplaint(text: command.output) }
        return command.output.trimmingCharacters(in: .newlines)
    }

    /// Empties the database, as a loss of the server's computer or an operator before a restoration does.
    public func dropAllTables() throws {
        let tables = try askDatabase(
            "SELECT CONCAT('`', table_name, '`') FROM information_schema.TABLES WHERE table_schema = DATABASE()")
        let list = tables.split(separator: "\n").joined(separator: ", ")
        _ = try askDatabase("SET FOREIGN_KEY_CHECKS = 0; DROP TABLE \(list)")
    }

    /// Makes a device's grant old enough to begin a switch of accounts, as if the device had signed in every day since.
    public func establish(_ grant: String) throws {
        _ = try askDatabase(
            """
            UPDATE device_grants
               SET created_at = created_at - INTERVAL 30 DAY, signed_in_at = UTC_TIMESTAMP()
             WHERE grant_hash = UNHEX(SHA2('\(grant)', 256))
            """)
    }

    /// Makes the grants of all devices of a group's members old enough to begin a switch of accounts.
    public func establishGrants(inGroup group: String) throws {
        _ = try askDatabase(
            """
            UPDATE device_grants d
              JOIN memberships m ON m.user_id = d.user_id
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
               SET d.created_at = d.created_at - INTERVAL 30 DAY, d.signed_in_at = UTC_TIMESTAMP()
             WHERE g.sharing_group_uuid = '\(group)'
            """)
    }

    /// An error of the database's client.
    public struct DatabaseComplaint: Error {
        /// The client's output.
        public let text: String
    }
}
