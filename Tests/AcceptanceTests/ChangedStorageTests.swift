import Curl
import Foundation
import TestSupport
import Testing

@Suite("Changes by owners in their own storage")
struct ChangedStorageTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// Signs up a user with one committed file that has metadata.
    func published() throws -> (TestUser, TestFile, name: String) {
        let alice = try server.signUpOwningUser()
        let file = TestFile("as the app left it")
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "about it"))
        return (alice, file, file.cloudName(device: alice.device))
    }

    @Test("Replaced contents are delivered with their own checksum and marked as changed [215]")
    func replaced() throws {
        let (alice, file, name) = try published()
        var changed = file
        changed.contents = Array("as the owner changed it".utf8)

        try server.sandbox.store(changed.contents, as: name, in: alice.account, folder: alice.folder)

        let reply = try alice.download(file, masterVersion: 1, metadataVersion: 0)
        expectDownload(reply, of: changed, metadata: "about it", contentsChanged: true)
    }

    @Test("A deleted file is gone, with its metadata and without a body [216] [233]")
    func deleted() async throws {
        let (alice, file, name) = try published()
        try server.sandbox.delete(name, in: alice.account)

        let reply = try await Threads.run { try alice.download(file, masterVersion: 1, metadataVersion: 0) }

        #expect(reply.status == 200, "\(reply)")
        #expect(reply.body.isEmpty)
        #expect(
            reply.messageParameters
                == .object([
                    "gone": .string("fileRemovedOrRenamed"), "appMetaData": .string("about it"),
                    "cloudStorageType": .string("Google"),
                ]))
    }

    @Test("A file in the bin is still served")
    func trashed() throws {
        let (alice, file, name) = try published()
        try server.sandbox.delete(name, in: alice.account, toTrash: true)

        expectDownload(try alice.download(file, masterVersion: 1, metadataVersion: 0), of: file, metadata: "about it")
    }

    @Test("A renamed file is still served")
    func renamed() throws {
        let (alice, file, name) = try published()
        try DriveOwner(server, alice).rename(name, to: "holiday.txt")
        #expect(try alice.stored(file).isEmpty)

        expectDownload(try alice.download(file, masterVersion: 1, metadataVersion: 0), of: file, metadata: "about it")
    }

    @Test("A file in a shared drive is still served, and its object is deleted with the file")
    func inSharedDrive() async throws {
        let (alice, file, name) = try published()
        try server.sandbox.move(name, toSharedDrive: "0AFamilyPVA", in: alice.account)

        expectDownload(try alice.download(file, masterVersion: 1, metadataVersion: 0), of: file, metadata: "about it")
        _ = try alice.delete(file, masterVersion: 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        try await eventually("the object is deleted") { try alice.stored(file).isEmpty }
    }

    @Test("After a deletion the next version can be uploaded and committed")
    func nextAfterDeletion() throws {
        let (alice, file, name) = try published()
        try server.sandbox.delete(name, in: alice.account)
        let next = file.next("again there")

        try alice.publish(next, masterVersion: 1)

        expectDownload(try alice.download(next, masterVersion: 2, metadataVersion: 0), of: next, metadata: "about it")
    }

    @Test("If the owner deletes a replaced version first, the commit and later ones succeed")
    func deletedBeforeReplacement() throws {
        let (alice, file, name) = try published()
        let next = file.next("next")
        try alice.stage(next, masterVersion: 1)
        try server.sandbox.delete(name, in: alice.account)

        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        #expect(try alice.commitStaged(masterVersion: 2) == 0)
    }

    @Test("If the owner permanently deletes the folder during an upload in pieces, it restarts in a new folder")
    func folderDeletedDuringUpload() async throws {
        let (alice, _, _) = try published()
        let file = TestFile(randomBytes: 1_500_000)
        let created = try server.call(
            "POST", "CreateUpload", alice.uploadParameters(file, masterVersion: 1),
            headers: alice.headers + [("Upload-Length", "\(file.contents.count)")])
        let upload = try PieceCalls(created, headers: alice.headers)
        let send = { @Sendable (offset: Int, end: Int) in
            var call = upload.append(from: offset, isLast: end == file.contents.count)
            call.body = Array(file.contents[offset..<end])
            return try server.address.perform(call)
        }
        let first = try send(0, 1_048_576)
        #expect(first.values(of: "upload-offset") == ["1048576"], "\(first)")
        try DriveOwner(server, alice).delete(folder: alice.folder)

        let failed = try await Threads.run { try send(1_048_576, file.contents.count) }
        #expect(failed.status == 502, "\(failed)")
        #expect(try server.address.perform(upload.offset).values(of: "upload-offset") == ["0"])
        var reply = try send(0, file.contents.count)
        // The role's other process may have cached the folder, and learns from this request that it is gone.
        if reply.status == 502 { reply = try send(0, file.contents.count) }

        #expect(reply.status == 200, "\(reply)")
        #expect(try alice.commit(masterVersion: 1).status == 200)
        expectDownload(try alice.download(file, masterVersion: 2), of: file)
        #expect(try alice.stored(file).map(\.folder) == [alice.folder])
    }
}

/// The user's storage through the provider's own API, with the device's token.
private struct DriveOwner {
    let routing: Routing
    let token: String

    init(_ server: TestServer, _ user: TestUser) throws {
        let port = try server.environment.value("SANDBOX_TLS_PORT")
        routing = Routing(connectTo: "127.0.0.1:\(port)", caFile: server.certificateAuthorityFile)
        token = user.account.accessToken
    }

    func rename(_ name: String, to newName: String) throws {
        let reply = try call("PATCH", "/\(find(name))", body: "{\"name\": \"\(newName)\"}")
        try #require(reply.status == 200)
    }

    /// Permanently deletes a folder and its contents.
    func delete(folder name: String) throws {
        try #require(try call("DELETE", "/\(find(name))").status == 204)
    }

    private func find(_ name: String) throws -> String {
        CurlLibrary.initialize()
        let query = ClientQuery.encode("name = '\(name)' and trashed = false")
        let list = try call("GET", "?fields=files(id)&q=\(query)")
        return try #require(JSONValue(list.body)?.files?.array?.first?["id"]?.text)
    }

    private func call(_ method: String, _ rest: String, body: String? = nil) throws -> Response {
        var handle = try EasyHandle(routing: routing)
        return try handle.perform(
            Request(
                method: method, url: "https://www.googleapis.com/drive/v3/files\(rest)",
                headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
                body: body.map { .bytes(Array($0.utf8)) } ?? .none))
    }
}
