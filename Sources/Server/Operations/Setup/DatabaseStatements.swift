/// SQL that only an administrator may run. It cannot be prepared with bound values, so names are checked and the
/// password is quoted.
public struct DatabaseStatements: Sendable {
    private let name: String
    private let account: String
    private let host: String
    private let answers: SetupAnswers

    /// - Parameter answers: without ``SetupAnswers/problems()``.
    public init(_ answers: SetupAnswers) {
        self.answers = answers
        name = answers.databaseName
        // A connection through the socket is local; through TCP the server may be on any host.
        host = if case .socket = answers.database { "localhost" } else { "%" }
        account = "'\(answers.databaseUser)'@'\(host)'"
    }

    public var createDatabase: String {
        "CREATE DATABASE IF NOT EXISTS `\(name)` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    }

    /// Creates the account together with its privileges, so that there is never one without the other. Only for an
    /// account that does not exist: this would change an existing one's password.
    ///
    /// In a grant, `_` matches any character, unless it is escaped.
    public func createUser(password: String) -> String {
        "GRANT ALL PRIVILEGES ON `\(pattern)`.* TO \(account) IDENTIFIED BY \(Self.quoted(password))"
    }

    /// Creates the accounts of the roles, without privileges yet, and lets the server's account grant privileges in its
    /// own database: `syncctl migrate` grants each role what it needs, whenever the tables change. An existing account
    /// keeps its password.
    public func createRoleUsers(passwords: [(role: String, password: String)]) -> String {
        let accounts = passwords.map { role, password in
            "CREATE USER IF NOT EXISTS '\(answers.databaseUser(ofRole: role))'@'\(host)' IDENTIFIED BY "
                + Self.quoted(password)
        }
        return (accounts + ["GRANT USAGE ON `\(pattern)`.* TO \(account) WITH GRANT OPTION"]).joined(separator: ";\n")
    }

    /// The database name as a pattern for grants.
    private var pattern: String {
        name.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "\\_")
    }

    /// A text as an SQL literal, for sessions without NO_BACKSLASH_ESCAPES, as ours are.
    static func quoted(_ text: String) -> String {
        var result = "'"
        for character in text.unicodeScalars {
            if character == "'" || character == "\\" { result += "\\" }
            result.unicodeScalars.append(character)
        }
        return result + "'"
    }
}
