import Curl
import Foundation
import TestSupport
import Testing

@Suite("Requests over TLS")
struct TLSTests {
    let server: TestServer

    init() throws {
        CurlLibrary.initialize()
        server = try TestServer.shared()
    }

    func call(_ request: Request) throws -> Response {
        var handle = try EasyHandle(routing: Routing(caFile: server.certificateAuthorityFile))
        return try handle.perform(request)
    }

    @Test(
        "Sign-up, upload, commit and download work over HTTP/2 and HTTP/1.1",
        arguments: [Request.HTTPVersion.http11, .http2])
    func conversation(version: Request.HTTPVersion) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 1_500_000)
        func send(_ method: String, _ endpoint: String, _ parameters: [String: String?], _ body: [UInt8] = []) throws
            -> Response
        {
            var request = Request(
                method: method, url: "\(server.secureURL)/\(endpoint)/\(ClientQuery.text(parameters))",
                headers: alice.headers, body: body.isEmpty ? .none : .bytes(body))
            request.httpVersion = version
            request.responseBodyLimit = 4_000_000
            return try call(request)
        }

        let upload = try send("POST", "UploadFile", alice.uploadParameters(file, masterVersion: 0), file.contents)
        let commit = try send("POST", "DoneUploads", ["masterVersion": "0", "sharingGroupUUID": alice.group])
        let download = try send("GET", "DownloadFile", alice.downloadParameters(file, masterVersion: 1))

        #expect(upload.status == 200)
        #expect(upload.headers.contains { $0.name == "syncserver-message-params" })
        #expect(JSONValue(commit.body)?.numberUploadsTransferred == .integer(1))
        #expect(download.status == 200)
        #expect(download.body == file.contents)
        #expect(upload.head.values(of: "syncserver-version").count == 1)
    }

    @Test("Errors are the same as over plain HTTP")
    func errors() throws {
        let reply = try call(Request(method: "GET", url: "\(server.secureURL)/Nowhere/"))

        #expect(reply.status == 404)
        #expect(JSONValue(reply.body)?.code?.text != nil)
        #expect(reply.head.values(of: "syncserver-version").count == 1)
    }
}
