import Foundation
import SyncProtocol
import TestSupport
import Testing

@Suite("Metadata in the body, and errors as problem details")
struct MetadataBodyTests {
    private let server: TestServer
    private let alice: Phone
    private let file = someFile()

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        try #require(server.upload(someBytes(9), of: file, by: alice).status == 200)
        try #require(server.commit(from: 0, by: alice).status == 200)
    }

    private func stage(_ body: [UInt8], inQuery metaData: AppMetaData? = nil, announcing: Int64? = nil)
        -> FakeConnection
    {
        server.send(
            UploadAppMetaDataRequest(
                fileUUID: file, appMetaData: metaData, masterVersion: MasterVersion(1), sharingGroupUUID: alice.group),
            as: alice, announcing: announcing ?? Int64(body.count), on: FakeConnection(body: body))
    }

    private func text(_ contents: String) -> [UInt8] {
        Array(AppMetaData(version: .first, contents: contents).jsonText.utf8)
    }

    @Test("The longest contents can be uploaded, committed and downloaded", arguments: ["a", "\"", "\u{1}"])
    func longest(unit: String) throws {
        let count = unit == "\u{1}" ? 40_000 : 65_535
        let contents = String(repeating: unit, count: count)

        #expect(stage(text(contents)).json.isEmpty)
        _ = server.commit(from: 1, by: alice)
        let reply = server.send(
            DownloadAppMetaDataRequest(
                fileUUID: file, appMetaDataVersion: .first, masterVersion: MasterVersion(2),
                sharingGroupUUID: alice.group), as: alice)

        #expect(reply.json["appMetaData"] as? String == contents)
    }

    @Test("Metadata that are too large, invalid, truncated or missing are rejected, and nothing is staged")
    func refused() throws {
        let cases: [(FakeConnection, Int, String)] = [
            (stage(text(String(repeating: "a", count: 65_536))), 413, "app_meta_data_too_large"),
            (stage([UInt8](repeating: 32, count: 512 * 1024 + 1)), 413, "body_too_large"),
            (stage(Array("{\"version\":0}".utf8)), 400, "malformed_parameter"),
            (stage([0xFF, 0xFE]), 400, "malformed_query"),
            (stage([]), 400, "missing_parameter"),
            (stage(text("x"), announcing: 1_000), 400, "body_length_mismatch"),
        ]
        for (reply, status, code) in cases {
            #expect(reply.status == status && reply.code == code, "\(reply.json)")
        }
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 0)
    }

    @Test("Metadata in the query are used, and a body is discarded")
    func both() throws {
        let reply = stage(text("from the body"), inQuery: AppMetaData(version: .first, contents: "from the query"))

        #expect(reply.status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes WHERE app_metadata = 'from the query'") == 1)
    }

    @Test("Errors are problem details only for clients that accept that type by name")
    func problems() {
        func error(accepting accept: String?) -> FakeConnection {
            server.send(
                IndexRequest(sharingGroupUUID: SharingGroupUUID("unknown")!), as: alice,
                adding: accept.map { [.accept: $0] } ?? [:])
        }

        for accept in ["application/problem+json", "application/json, Application/Problem+JSON;q=0.9"] {
            let reply = error(accepting: accept)
            #expect(reply.header("content-type") == "application/problem+json")
            #expect(reply.json["detail"] as? String == reply.json["error"] as? String)
            #expect(reply.json["status"] as? Int == 404)
            #expect(reply.json["title"] as? String == "Not Found")
        }
        for accept in [nil, "*/*", "application/*", "application/json"] {
            let reply = error(accepting: accept)
            #expect(reply.header("content-type") == "application/json")
            #expect(
                Set(reply.json.keys) == ["error", "code", "requestId", "retryable", "title", "status"])
        }
    }
}
