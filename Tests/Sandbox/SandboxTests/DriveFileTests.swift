import OpenSSLCrypto
import Testing

@testable import Sandbox

@Suite("Files in Drive")
struct DriveFileTests {
    @Test("An app sees its own files, but neither the user's own files nor those of other apps")
    func visibility() throws {
        let user = try DriveUser(try TestSandbox())
        let put = user.sandbox.send(
            "PUT", "/sandbox/accounts/\(user.id)/files/own.txt?visible=0", headers: [("Content-Type", "text/plain")],
            body: [1])
        let ours = user.sandbox.send("PUT", "/sandbox/accounts/\(user.id)/files/ours.txt?folder=Images", body: [1, 2])
        let hidden = try #require(try put.json()["id"]?.string)

        #expect(ours.status == 201)
        #expect(try user.search("trashed = false") == ["ours.txt", "Images"])
        #expect(user.sandbox.send("GET", DriveUser.files + "/" + hidden, token: user.token).status == 404)
        #expect(user.sandbox.send("DELETE", DriveUser.files + "/" + hidden, token: user.token).status == 404)
        let listed = try user.sandbox.send("GET", "/sandbox/accounts/\(user.id)/files").json()
        #expect(listed.array?.compactMap { $0["folder"]?.string } == ["", "Images"])
    }

    @Test("The scope drive.file hides the root folder, the scope drive shows it")
    func root() throws {
        let user = try DriveUser(try TestSandbox())
        let hidden = user.sandbox.send("GET", DriveUser.files + "/root?fields=id", token: user.token)
        #expect(hidden.status == 404)
        #expect(try hidden.json()["error"]?["errors"]?.array?.first?["reason"] == "notFound")
        _ = try user.create(["name": "a", "parents": ["root"]])
        #expect(try user.search("'root' in parents") == ["a"])

        let all = try DriveUser(
            user.sandbox, ["provider": "google", "scopes": ["https://www.googleapis.com/auth/drive"]])
        #expect(all.sandbox.send("GET", DriveUser.files + "/root?fields=id", token: all.token).status == 200)
    }

    @Test("An id generated in advance is rejected for Google's own documents, but not for folders")
    func generatedIDOfDocument() throws {
        let user = try DriveUser(try TestSandbox())
        let ids = try user.sandbox.send("GET", DriveUser.files + "/generateIds?count=2", token: user.token).json()[
            "ids"]
        let first = try #require(ids?.array?.first)
        let document: JSONValue = ["id": first, "mimeType": "application/vnd.google-apps.document"]

        let created = user.sandbox.send("POST", DriveUser.files, token: user.token, json: document)
        let started = user.sandbox.send(
            "POST", DriveUser.upload + "?uploadType=resumable", token: user.token, json: document)

        #expect([created.status, started.status] == [400, 400])
        #expect(try user.sandbox.violations() == ["file-id", "file-id"])
        let folder = try user.create(["id": first, "mimeType": .string(DriveFile.folderType)])
        #expect(.string(folder) == first)
        _ = try user.create(["mimeType": "application/vnd.google-apps.document"])
    }

    @Test("Ids generated in advance work once; other ids never work")
    func generatedIDs() throws {
        let user = try DriveUser(try TestSandbox())
        let reply = try user.sandbox.send("GET", DriveUser.files + "/generateIds?count=2", token: user.token).json()
        let id = try #require(reply["ids"]?.array?.first?.string)

        let made = try user.create(["id": .string(id), "name": "a"])
        let again = user.sandbox.send("POST", DriveUser.files, token: user.token, json: ["id": .string(id)])
        let deleted = user.sandbox.send("DELETE", DriveUser.files + "/" + id, token: user.token)
        let deletedAgain = user.sandbox.send("DELETE", DriveUser.files + "/" + id, token: user.token)
        let invented = user.sandbox.send("POST", DriveUser.files, token: user.token, json: ["id": "mine"])

        #expect(made == id)
        #expect(again.status == 409)
        #expect([deleted.status, deletedAgain.status] == [204, 404])
        #expect(invented.status == 400)
        #expect(try user.sandbox.violations() == ["file-id"])
    }

    @Test("Pages are returned until everything is listed")
    func paging() throws {
        let user = try DriveUser(try TestSandbox())
        for number in 0..<5 { _ = try user.create(["name": .string("f\(number)")]) }
        var names: [String] = []
        var token = ""
        repeat {
            let page = try user.sandbox.send(
                "GET", DriveUser.files + "?pageSize=2&orderBy=name" + token, token: user.token
            ).json()
            names += page["files"]?.array?.compactMap { $0["name"]?.string } ?? []
            token = page["nextPageToken"]?.string.map { "&pageToken=" + PercentEncoding.encode($0) } ?? ""
        } while !token.isEmpty

        #expect(names == ["f0", "f1", "f2", "f3", "f4"])
        #expect(user.sandbox.send("GET", DriveUser.files + "?pageToken=x", token: user.token).status == 400)
        #expect(user.sandbox.send("GET", DriveUser.files + "?pageSize=0", token: user.token).status == 400)
    }

    @Test("A multipart upload is parsed strictly, and keeps a line break at the end of the bytes")
    func multipart() throws {
        let user = try DriveUser(try TestSandbox())
        let type = [("Content-Type", "multipart/related; boundary=\"b\"")]
        let good =
            "--b\r\nContent-Type: application/json\r\n\r\n{\"name\":\"n\"}\r\n--b\r\nContent-Type: text/plain\r\n\r\nhi\r\n\r\n--b--\r\n"

        let made = user.sandbox.send(
            "POST", DriveUser.upload + "?uploadType=multipart&fields=id,size,mimeType", token: user.token,
            headers: type,
            body: Array(good.utf8))
        let broken = user.sandbox.send(
            "POST", DriveUser.upload + "?uploadType=multipart", token: user.token, headers: type,
            body: Array(good.replacing("--b--", with: "").utf8))

        #expect(try made.json()["size"] == "4")
        #expect(try made.json()["mimeType"] == "text/plain")
        #expect(broken.status == 400)
        #expect(try user.sandbox.violations() == ["multipart"])
    }

    @Test(
        "A multipart upload has at most 5 MB of content",
        arguments: [(5_000_000, 200), (5_000_001, 413), (5_100_000, 413)])
    func largeMultipart(size: Int, status: Int) throws {
        let user = try DriveUser(try TestSandbox())
        let head =
            "--b\r\nContent-Type: application/json\r\n\r\n{\"name\":\"n\"}\r\n--b\r\nContent-Type: text/plain\r\n\r\n"
        let body = Array(head.utf8) + [UInt8](repeating: 0x61, count: size) + Array("\r\n--b--\r\n".utf8)

        let reply = user.sandbox.send(
            "POST", DriveUser.upload + "?uploadType=multipart&fields=size", token: user.token,
            headers: [("Content-Type", "multipart/related; boundary=b")], body: body)

        #expect(reply.status == status)
        #expect(try user.sandbox.violations() == (status == 200 ? [] : ["multipart-size"]))
        #expect(try user.search("name = 'n'") == (status == 200 ? ["n"] : []))
    }

    @Test(
        "A multipart upload is parsed as it arrives: its end may be split anywhere",
        arguments: [65_536, 65_536 + 262_144])
    func multipartInPieces(border: Int) throws {
        let user = try DriveUser(try TestSandbox())
        let head = "--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: text/plain\r\n\r\n"
        // Text that resembles the end, except for its last byte, is content.
        let content = Array("\r\n--c".utf8) + [UInt8](repeating: 0x0d, count: border)

        for size in border - head.utf8.count - 12...border - head.utf8.count {
            let bytes = Array(content[..<size])
            let reply = user.sandbox.send(
                "POST", DriveUser.upload + "?uploadType=multipart&fields=md5Checksum,sha256Checksum", token: user.token,
                headers: [("Content-Type", "multipart/related; boundary=b")],
                body: Array(head.utf8) + bytes + Array("\r\n--b--".utf8))

            let json = try reply.json()
            #expect(json["md5Checksum"]?.string == IncrementalDigest.digest(of: bytes, .md5).hexLowercase)
            #expect(json["sha256Checksum"]?.string == IncrementalDigest.digest(of: bytes, .sha256).hexLowercase)
        }
        #expect(try user.sandbox.violations() == [])
    }

    @Test(
        "A multipart upload has two parts; the second may be empty",
        arguments: [
            ("--b\nContent-Type: application/json\n\n{}\n--b\nContent-Type: text/plain\n\nhi\n--b--\n", "2"),
            ("--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nX: y\r\n\r\n\r\n--b--", "0"),
            ("--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nX: y\r\n\r\n--b--", "0"),
            ("--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b--", nil),
            ("--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\n\r\n1\r\n--b\r\n\r\n2\r\n--b--", nil),
            ("--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\n\r\nhi\r\n--b", nil),
            ("--b\r\nContent-Type: text/plain\r\n\r\n{}\r\n--b\r\n\r\nhi\r\n--b--", nil), ("--b", nil), ("", nil),
        ] as [(String, String?)])
    func multipartParts(body: String, size: String?) throws {
        let user = try DriveUser(try TestSandbox())

        let reply = user.sandbox.send(
            "POST", DriveUser.upload + "?uploadType=multipart&fields=size", token: user.token,
            headers: [("Content-Type", "multipart/related; boundary=b")], body: Array(body.utf8))

        #expect(reply.status == (size == nil ? 400 : 200))
        #expect(try reply.json()["size"]?.string == size)
        #expect(try user.sandbox.violations() == (size == nil ? ["multipart"] : []))
    }

    @Test(
        "Ranges of a file are served according to RFC 9110",
        arguments: [
            ("bytes=0-1", 206, "01"), ("bytes=2-", 206, "234"), ("bytes=-2", 206, "34"), ("bytes=3-99", 206, "34"),
            ("bytes=5-", 416, nil), ("lines=1-2", 200, "01234"), ("bytes=3-1", 200, "01234"),
        ] as [(String, Int, String?)])
    func ranges(header: String, status: Int, text: String?) throws {
        let user = try DriveUser(try TestSandbox())
        let put = user.sandbox.send("PUT", "/sandbox/accounts/\(user.id)/files/a", body: Array("01234".utf8))
        let id = try #require(try put.json()["id"]?.string)

        let part = user.sandbox.send(
            "GET", DriveUser.files + "/\(id)?alt=media", token: user.token, headers: [("Range", header)])

        #expect(part.status == status)
        if let text { #expect(String(decoding: try part.content(), as: UTF8.self) == text) }
    }

    @Test("Without the Drive scope, nothing is permitted; without a token, the call counts as unauthenticated")
    func scopes() throws {
        let user = try DriveUser(try TestSandbox(), ["provider": "google", "scopes": ["openid"]])

        let scope = user.sandbox.send("GET", DriveUser.files, token: user.token)
        let wrong = user.sandbox.send("GET", DriveUser.files, token: "ya29.nothing")
        let none = user.sandbox.send("GET", DriveUser.files)

        #expect([scope.status, wrong.status, none.status] == [403, 401, 403])
        #expect(try none.json()["error"]?["errors"]?.array?.first?["reason"] == "dailyLimitExceededUnreg")
    }

    @Test("Files in a shared drive are visible only to requests that support all drives")
    func sharedDrive() throws {
        let sandbox = try TestSandbox()
        let user = try DriveUser(sandbox)
        let id = try user.create(["name": "a"])
        let moved = sandbox.send("POST", "/sandbox/accounts/\(user.id)/files/a", json: ["sharedDrive": "0AFamilyPVA"])
        #expect(moved.status == 200)
        let file = "\(DriveUser.files)/\(id)"

        for (method, query) in [("GET", ""), ("GET", "?alt=media"), ("DELETE", "")] {
            #expect(sandbox.send(method, file + query, token: user.token).status == 404, "\(method) \(query)")
        }
        #expect(try user.search("name = 'a'") == [])
        #expect(try user.search("name = 'a'", "&supportsAllDrives=true") == [])
        #expect(try user.search("name = 'a'", "&supportsAllDrives=true&includeItemsFromAllDrives=true") == ["a"])
        let found = try sandbox.send("GET", file + "?supportsAllDrives=true&fields=driveId,owners", token: user.token)
            .json()
        #expect(found == ["driveId": "0AFamilyPVA"])
        #expect(sandbox.send("DELETE", file + "?supportsAllDrives=true", token: user.token).status == 204)
    }

    @Test("Accounts, tokens and files survive a restart")
    func restart() throws {
        let first = try TestSandbox()
        let user = try DriveUser(first)
        _ = try user.create(["name": "a"])

        let second = try TestSandbox(directory: first.directory)
        let files = try second.send("GET", DriveUser.files, token: user.token).json()

        #expect(files["files"]?.array?.compactMap { $0["name"]?.string } == ["a"])
        #expect(second.send("DELETE", "/sandbox/accounts/\(user.id)/files/a?trash=1").status == 204)
        #expect(try second.send("GET", "/sandbox/accounts/\(user.id)/files").json().array?.first?["trashed"] == true)
    }
}
