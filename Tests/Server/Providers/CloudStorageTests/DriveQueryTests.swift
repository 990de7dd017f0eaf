import Testing

@testable import Providers

@Suite("Drive's query language")
struct DriveQueryTests {
    @Test(
        "No name can end its literal: quotes and backslashes are escaped, regardless of the accents that follow them",
        arguments: [
            ("Photos", "'Photos'"), ("Ann's", #"'Ann\'s'"#), (#"C:\Photos\"#, #"'C:\\Photos\\'"#),
            (#"\' or name contains '"#, #"'\\\' or name contains \''"#), ("'\u{301}", "'\\'\u{301}'"), ("", "''"),
        ])
    func literals(name: String, literal: String) { #expect(DriveQuery.literal(name) == literal) }
}
