import SyncProtocol
import Testing

@testable import Store
@testable import SyncService

@Suite("The page that lists an owner's files")
struct IndexPageTests {
    private func file(
        _ number: Int, type: String = "text/plain", group: String = "g1", name: String? = "Hill walkers"
    ) throws -> ListedFile {
        let uuid = String(number)
        let padded = String(repeating: "0", count: 12 - uuid.utf8.count) + uuid
        let record = FileRecord(
            fileUUID: try #require(FileUUID("F0F0F0F0-0000-4000-8000-\(padded)")),
            owningUser: OwningUser(userID: UserID(1), storageType: .google),
            deviceUUID: try #require(DeviceUUID("DDDDDDDD-0000-4000-8000-000000000001")),
            createdAt: try #require(WireDate("2026-02-01 10:20:30")),
            updatedAt: try #require(WireDate("2026-02-01 10:20:30")), mimeType: try #require(MIMEType(type)),
            isDeleted: false, fileVersion: FileVersion(3), sizeBytes: 2_048)
        return ListedFile(groupUUID: try #require(SharingGroupUUID(group)), groupName: name, file: record)
    }

    private func text(_ files: [ListedFile], total: Int? = nil) -> String {
        String(
            decoding: IndexPage(files, total: total ?? files.count).bytes(), as: UTF8.self)
    }

    @Test("Pictures, texts and links refer to the objects in the same folder as the page")
    func kinds() throws {
        let page = text([
            try file(1, type: "image/jpeg"), try file(2), try file(3, type: "application/x-url"),
        ])
        let names = ["1.DDDDDDDD-0000-4000-8000-000000000001.3.jpg", "2.DDDDDDDD-0000-4000-8000-000000000001.3.txt"]
            .map { "F0F0F0F0-0000-4000-8000-00000000000" + $0 }

        #expect(page.contains("<a href=\"\(names[0])\"><img loading=\"lazy\" src=\"\(names[0])\""))
        #expect(page.contains("<iframe sandbox loading=\"lazy\" src=\"\(names[1])\""))
        #expect(page.contains(".3.url\">Link</a>"))
        #expect(page.contains("<time datetime=\"2026-02-01T10:20:30Z\">2026-02-01 10:20</time>"))
        #expect(!page.contains("http://") && !page.contains("https://"))
    }

    @Test(
        "User text never becomes markup",
        arguments: [
            "</h2><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg onload='alert(1)'>",
            "&lt;script&gt;",
            "a\u{202E}b\u{2066}c\u{0}d\u{1B}[2J",
        ])
    func hostileNames(name: String) throws {
        let page = text([try file(1, name: name)])
        let heading = try #require(page.firstMatch(of: /<h2><bdi>(.*)<\/bdi><\/h2>/)?.1)

        #expect(!heading.contains { "<>\"'".contains($0) })
        #expect(heading.unicodeScalars.allSatisfy { $0.properties.generalCategory != .format && $0.value >= 32 })
        #expect(!page.contains("<script"))
        if name == "&lt;script&gt;" { #expect(heading == "&amp;lt;script&amp;gt;") }
    }

    @Test("Files are grouped, and a group without a name is shown as such")
    func groups() throws {
        let page = text([try file(1, group: "g1"), try file(2, group: "g2", name: nil), try file(3, group: "g1")])

        #expect(page.matches(of: /<h2>/).count == 2)
        #expect(page.contains("A group without a name"))
    }

    @Test("The same files yield the same bytes, and other files different ones")
    func deterministic() throws {
        let files = [try file(1), try file(2)]

        #expect(text(files) == text(files))
        #expect(text(files) != text([files[0]]))
    }

    @Test("A page with the maximum number of files stays below two megabytes, and gives the total number")
    func limit() throws {
        let files = try (0..<IndexPage.maximumFiles).map { try file($0, type: "image/jpeg") }
        let page = text(files, total: 123_456)

        #expect(page.utf8.count < 2_000_000)
        #expect(page.contains("the 2000 newest of 123456 files"))
    }

    @Test("Without files the page still exists")
    func empty() { #expect(text([]).contains("There are no files")) }
}
