import Foundation
import Testing

@testable import Sandbox

/// Follows Dropbox's HTTP documentation of `files/get_temporary_upload_link` and `files/get_temporary_link`.
@Suite("Sandbox: Dropbox's temporary links")
struct DropboxTemporaryLinkTests {
    let sandbox: TestSandbox
    let user: DropboxUser

    init() throws {
        sandbox = try TestSandbox()
        user = try DropboxUser(sandbox)
    }

    private func uploadLink(_ more: [(String, JSONValue)] = []) throws -> String {
        var argument: JSONObject = ["commit_info": ["path": "/a.txt", "mode": "add"]]
        for (name, value) in more { argument[name] = value }
        let reply = user.call("files/get_temporary_upload_link", .object(argument))
        #expect(reply.status == 200)
        return try address(in: reply)
    }

    private func address(in reply: SandboxResponse) throws -> String {
        let link = try #require(try reply.json()["link"]?.string)
        #expect(link.hasPrefix("https://"))
        return String(link.dropFirst("https://".count))
    }

    private func send(
        _ bytes: [UInt8], to address: String, method: String = "POST", type: String = "application/octet-stream",
        token: String? = nil
    ) -> SandboxResponse {
        sandbox.send(method, address, token: token, headers: [("Content-Type", type)], body: bytes)
    }

    private func advance(seconds: Int) {
        sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": .int(seconds)])
    }

    @Test("A file is sent without a token, once, and its hash is the reply")
    func upload() throws {
        let address = try uploadLink()
        #expect(user.call("files/get_metadata", ["path": "/a.txt"]).status == 409, "the file does not exist before")

        let reply = send(DropboxTests.bytes, to: address)
        #expect(reply.status == 200)
        #expect(try reply.json()["content-hash"]?.string == DropboxTests.hash)
        let metadata = try user.call("files/get_metadata", ["path": "/a.txt"]).json()
        #expect(metadata["content_hash"]?.string == DropboxTests.hash)
        #expect(send(DropboxTests.bytes, to: address).status == 410)
        #expect(try sandbox.violations().isEmpty)
    }

    @Test("A file that already has the path causes a conflict only once the bytes arrive, without details")
    func conflict() throws {
        let address = try uploadLink()
        #expect(user.send("upload", ["path": "/a.txt"], [1, 2, 3]).status == 200)
        let reply = send(DropboxTests.bytes, to: address)
        #expect(reply.status == 409)
        #expect(user.download("/a.txt").status == 200)
        // Equal contents count as written.
        #expect(send([1, 2, 3], to: address).status == 200)
    }

    @Test("A link expires after the requested 60 seconds to 4 hours")
    func expiry() throws {
        let address = try uploadLink([("duration", 60)])
        advance(seconds: 61)
        #expect(send(DropboxTests.bytes, to: address).status == 410)
        #expect(send(DropboxTests.bytes, to: "content.dropboxapi.com/apitul/1/unknown").status == 409)
        #expect(try sandbox.violations().isEmpty)
        for duration in [59, 14_401] {
            let argument: JSONValue = ["commit_info": ["path": "/a.txt"], "duration": .int(duration)]
            #expect(user.call("files/get_temporary_upload_link", argument).status == 400)
        }
        #expect(try sandbox.violations() == ["link-duration", "link-duration"])
    }

    @Test("A token, another method or another media type is rejected")
    func misuse() throws {
        let address = try uploadLink()
        #expect(send(DropboxTests.bytes, to: address, token: user.token).status == 400)
        #expect(send(DropboxTests.bytes, to: address, method: "PUT").status == 405)
        #expect(send(DropboxTests.bytes, to: address, type: "image/jpeg").status == 400)
        #expect(try sandbox.violations() == ["authorization", "method", "content-type"])
        #expect(send(DropboxTests.bytes, to: address).status == 200)
    }

    @Test("A file is read without a token for four hours, ranges included")
    func download() throws {
        #expect(user.send("upload", ["path": "/a.txt"], DropboxTests.bytes).status == 200)
        let reply = user.call("files/get_temporary_link", ["path": "/a.txt"])
        #expect(try reply.json()["metadata"]?["content_hash"]?.string == DropboxTests.hash)
        let address = try address(in: reply)
        #expect(sandbox.send("GET", address).status == 200)
        let range = sandbox.send("GET", address, headers: [("Range", "bytes=1-3")])
        #expect(range.status == 206 && range.contentLength == 3)
        #expect(sandbox.send("GET", address, token: user.token).status == 400)
        #expect(try sandbox.violations() == ["authorization"])
        advance(seconds: 14_401)
        #expect(sandbox.send("GET", address).status == 410)
    }

    @Test("A link to a missing file is rejected")
    func nothing() throws {
        let reply = user.call("files/get_temporary_link", ["path": "/a.txt"])
        #expect(reply.status == 409)
        #expect(try DropboxUser.tags(reply) == ["path", "not_found"])
    }
}
