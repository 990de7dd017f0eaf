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

    /// What the database's client printed instead of rows.
    public struct DatabaseComplaint: Error {
        /// Its words.
        public let text: String
    }
}
