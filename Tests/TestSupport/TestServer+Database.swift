import Foundation

extension TestServer {
    /// Runs a statement behind the server's back, as the database's administrator.
    ///
    /// For what no phone can bring about: time that has passed, more rows than anybody could upload.
    /// - Returns: the rows, a line each but for the last line's end, without the names of columns.
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

    /// Makes a device's grant as old as one has to be that begins a switch of accounts, as if its device had signed in every day
    /// since.
    public func establish(_ grant: String) throws {
        _ = try askDatabase(
            """
            UPDATE device_grants
               SET created_at = created_at - INTERVAL 30 DAY, signed_in_at = UTC_TIMESTAMP()
             WHERE grant_hash = UNHEX(SHA2('\(grant)', 256))
            """)
    }

    /// The same for all devices of a group's members.
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

    /// What the database's client printed instead of rows.
    public struct DatabaseComplaint: Error {
        /// Its words.
        public let text: String
    }
}
