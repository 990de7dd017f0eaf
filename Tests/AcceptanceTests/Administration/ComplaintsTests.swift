import Foundation
import TestSupport
import Testing

@Suite("docs/complaints.md")
struct ComplaintsTests {
    /// The commands in the page's blocks, without comments.
    private static let commands: [String] = {
        let page = PrivateStack.repository.appending(path: "docs/complaints.md")
        guard let text = try? String(contentsOf: page, encoding: .utf8) else { return [] }
        var isInside = false
        return text.split(separator: "\n").compactMap { line in
            if line.hasPrefix("```") {
                isInside = line == "```sh"
                return nil
            }
            guard isInside else { return nil }
            return line.split(separator: "#")[0].trimmingCharacters(in: .whitespaces)
        }
    }()

    @Test("Each command on the page is a working syncctl command that changes nothing")
    func commandsRun() throws {
        let server = try TestServer.shared()
        let tool = try OperatorTool(server)
        let name = "Complainer \(UUID().uuidString)"
        let alice = try server.signUpOwningUser(name: name)
        let file = TestFile("a photo")
        try alice.publish(file, masterVersion: try #require(try alice.index().masterVersion))
        let values = ["NAME": name, "USER": "\(alice.userID)", "GROUP": alice.group, "FILE": file.uuid]
        let changing: Set = [
            "--repair", "retry", "drop", "--yes", "migrate", "restore", "rotate", "reseal", "make", "erase",
        ]

        #expect(Set(Self.commands).count >= 14, "\(Self.commands)")
        for command in Set(Self.commands).sorted() {
            let words = command.split(separator: " ").map { values[String($0)] ?? String($0) }
            #expect(words.first == "syncctl" && changing.isDisjoint(with: words), "\(command)")
            let result = try tool.run(Array(words.dropFirst()))
            // These two also report leftovers of other tests in the database, and that this host has no nginx of its
            // own.
            let mayFind = command.contains("fsck") || command.contains("doctor")
            #expect(result.status == 0 || (mayFind && result.status == 1), "\(command): \(result.output)")
            #expect(!result.output.isEmpty, "\(command)")
        }
    }

    @Test("The page quotes the output of files explain correctly")
    func quotations() throws {
        let page = try String(
            contentsOf: PrivateStack.repository.appending(path: "docs/complaints.md"), encoding: .utf8)
        let source = try String(
            contentsOf: PrivateStack.repository.appending(path: "Sources/Server/Operations/Look/FileStory.swift"),
            encoding: .utf8)
        for quotation in [
            "the contents are not in", "in the bin", "differ from those uploaded", "another one has its name",
            "denies this server access", "could not be asked", "as they were uploaded", "contents of the uploaded size",
            "No group has a file with that UUID",
        ] {
            #expect(page.contains(quotation), "\(quotation)")
            #expect(source.contains(quotation), "\(quotation)")
        }
    }
}
