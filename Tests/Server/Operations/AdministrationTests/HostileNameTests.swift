import MariaDB
import Operations
import Store
import SyncProtocol
import Testing

@Suite("Names that attack the terminal")
struct HostileNameTests {
    /// Clears the screen, adds a row, and reverses the rest.
    private static let name = "Eve\u{1b}[2J\n99    Root\u{85}98    Admin\r\u{9b}31m\u{202e}live\u{2066}"

    private func fixture() throws -> AdministrationFixture {
        let fixture = try AdministrationFixture()
        var connection = try Connection(fixture.settings)
        let name = Value.text(Self.name)
        try connection.execute("UPDATE users SET display_name = ?", [name])
        try connection.execute("UPDATE sharing_groups SET name = ?", [name])
        try connection.execute("UPDATE files SET mime_type = ?", [.text("text/\u{1b}[2J\n99    Root")])
        try connection.execute("UPDATE outbox SET last_error = ?, request_id = 'a\nb', attempts = 1", [name])
        return fixture
    }

    @Test("In lists, details and histories, such names forge no row, and every control character is escaped")
    func reports() throws {
        let fixture = try fixture()
        let group = try #require(SharingGroupUUID(AdministrationFixture.group))
        let now = AdministrationFixture.now
        let reports: [any Report] = try fixture.store.snapshot { session in
            let users = try session.listUsers(UserFilter(), after: nil, limit: 10)
            let groups = try session.listGroups(GroupFilter(), after: nil, limit: 10)
            let files = try session.listFiles(of: group, FileFilter(), after: nil, limit: 10)
            let jobs = try session.listOutbox(OutboxFilter(), after: nil, limit: 10, at: now)
            return [
                Page(users, limit: 10) { "\($0.userID)" }, Page(groups, limit: 10) { $0.sharingGroupUUID.rawValue },
                Page(files, limit: 10) { $0.fileUUID.rawValue }, Page(jobs, limit: 10) { "\($0.jobID)" },
                try #require(try session.userDetails(AdministrationFixture.alice)),
                try #require(try session.groupDetails(group, at: now)), try #require(jobs.first),
                FileStory(try session.evidence(of: AdministrationFixture.photo, at: now)),
            ]
        }

        for report in reports {
            let text = report.text
            #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == report.lines.count)
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7F...0x9F ~= $0.value) })
            #expect(!text.unicodeScalars.contains { ["\u{202e}", "\u{2066}"].contains($0) })
            #expect(text.contains(#"\u{1b}[2J\u{a}99    Root"#), "\(text)")
        }
        // A header, and a row for each.
        #expect(reports[0].lines.count == 3)
        #expect(reports[1].lines.count == 2)
    }
}
