import FoundationEssentials
import Testing

@testable import Sandbox

@Suite("Drive's search language")
struct DriveQueryTests {
    @Test(
        "Invalid expressions are rejected",
        arguments: [
            "name = 'x", "name = x", "name is 'x'", "name = 'a' and", "trashed = 'false'", "foo = 'x'", "'x' in name",
            "name = 'a\\b'", "(name = 'a'", "mimeType > 'a'", "appProperties has { key='a' }", "name = 'a' name = 'b'",
        ])
    func refused(query: String) {
        #expect(throws: DriveError.invalid("q")) { try DriveQuery(query) }
    }

    @Test("and and or are evaluated from left to right; not applies to the next term")
    func precedence() throws {
        let query = try DriveQuery("starred = true or name = 'a' and not trashed = true")

        #expect(query == .both(.either(.starred(true), .name(.equal, "a")), .not(.trashed(true))))
    }

    @Test("Quotes and backslashes are escaped, names ignore case, contains matches the beginnings of words")
    func names() throws {
        let user = try DriveUser(try TestSandbox())
        for name in ["Valentine's \\ Day", "hello.txt", "say hello", "othello"] {
            _ = try user.create(["name": .string(name)])
        }

        #expect(try user.search("name = 'Valentine\\'s \\\\ Day'") == ["Valentine's \\ Day"])
        #expect(try user.search("name = 'HELLO.TXT'") == ["hello.txt"])
        #expect(try user.search("name contains 'hello'") == ["say hello", "hello.txt"])
    }

    @Test("A quote ends a string even if a combining accent follows")
    func combiningAccents() throws {
        #expect(throws: DriveError.invalid("q")) { try DriveQuery("name = '\u{301}a'\u{301}") }
        #expect(try DriveQuery("name = '\u{301}a'") == .name(.equal, "\u{301}a"))
        #expect(try DriveQuery("name = '\\'\u{301}a'") == .name(.equal, "'\u{301}a"))
    }

    @Test("Folders, properties, times and the bin are found")
    func terms() throws {
        let user = try DriveUser(try TestSandbox())
        let folder = try user.create(["name": "Images", "mimeType": .string(DriveFile.folderType)])
        let file = try user.create([
            "name": "a", "parents": [.string(folder)], "appProperties": ["fileUUID": "u1"],
        ])

        #expect(try user.search("'\(folder)' in parents") == ["a"])
        #expect(try user.search("'root' in parents and mimeType = '\(DriveFile.folderType)'") == ["Images"])
        #expect(try user.search("appProperties has { key='fileUUID' and value='u1' }") == ["a"])
        #expect(try user.search("modifiedTime > '2100-01-01T00:00:00'") == [])
        #expect(try user.search("createdTime < '2100-01-01' and trashed = false") == ["a", "Images"])
        user.sandbox.send("PATCH", DriveUser.files + "/" + folder, token: user.token, json: ["trashed": true])
        #expect(try user.search("trashed = true") == ["a", "Images"])
        #expect(user.sandbox.send("GET", DriveUser.files + "/" + file, token: user.token).status == 200)
    }

    @Test("A new file is not found by searches until the lag is over")
    func lag() throws {
        let user = try DriveUser(try TestSandbox())
        user.sandbox.send("POST", "/sandbox/settings", json: ["searchLagMs": 2_000])
        let id = try user.create(["name": "late"])

        let early = try user.search("name = 'late'")
        let byID = user.sandbox.send("GET", DriveUser.files + "/" + id, token: user.token)
        user.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 3])

        #expect(early == [])
        #expect(byID.status == 200)
        #expect(try user.search("name = 'late'") == ["late"])
    }
}

@Suite("Drive's fields parameter")
struct FieldMaskTests {
    private let value: JSONValue = ["a": 1, "b": ["c": 2, "d": 3], "e": [["f": 4, "g": 5]]]

    @Test("Members, paths, groups and arrays are projected")
    func projection() throws {
        #expect(try FieldMask("a,b/c,e(f)").project(value) == ["a": 1, "b": ["c": 2], "e": [["f": 4]]])
        #expect(try FieldMask("b(c,d)").project(value) == ["b": ["c": 2, "d": 3]])
        #expect(try FieldMask("*").project(value) == value)
    }

    @Test("A malformed or unknown selection is rejected", arguments: ["", "a,", "a(b", "a)", "a//b", "a b"])
    func broken(fields: String) {
        #expect(throws: DriveError.self) { try FieldMask(fields) }
    }

    @Test("An empty fields parameter counts as absent")
    func emptyFields() throws {
        let user = try DriveUser(try TestSandbox())
        let id = try user.create(["name": "a"])
        for path in ["/" + id, ""] {
            let absent = user.sandbox.send("GET", DriveUser.files + path, token: user.token)
            let empty = user.sandbox.send("GET", DriveUser.files + path + "?fields=", token: user.token)
            #expect(empty.status == 200)
            #expect(try empty.content() == absent.content())
        }
        let url = try user.startUpload(["name": "b"], query: "&fields=")
        let made = try user.put(url, "bytes 0-0/1", [1]).json()
        #expect(made.object?.members.map(\.name) == ["id", "kind", "mimeType", "name"])
        let about = user.sandbox.send("GET", "www.googleapis.com/drive/v3/about?fields=", token: user.token)
        #expect(about.status == 400)
    }

    @Test("Without fields, only kind, id, name and mimeType are returned; an unknown field is an error")
    func defaults() throws {
        let user = try DriveUser(try TestSandbox())
        let id = try user.create(["name": "a"])

        let poor = user.sandbox.send("GET", DriveUser.files + "/" + id, token: user.token)
        let wrong = user.sandbox.send("GET", DriveUser.files + "/\(id)?fields=id,foo", token: user.token)

        let expected: JSONValue = [
            "kind": "drive#file", "id": .string(id), "name": "a", "mimeType": "application/octet-stream",
        ]
        #expect(String(decoding: try poor.content(), as: UTF8.self) == expected.text(isPretty: true) + "\n")
        #expect(wrong.status == 400)
        #expect(try wrong.json()["error"]?["message"] == "Invalid field selection foo")
    }
}
