import Foundation
import TestSupport
import Testing

@Suite("commitId")
struct CommitIDTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A repeated commit returns the lost reply, even if others have committed since")
    func lostReply() async throws {
        let alice = try server.signUpOwningUser()
        let (id, file) = (UUID().uuidString, TestFile())
        try alice.stage(file, masterVersion: 0)
        let query = ClientQuery.text(["masterVersion": "0", "sharingGroupUUID": alice.group, "commitId": id])
        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(
            HTTPCall("POST", "/DoneUploads/\(query)", headers: alice.headers).head(
                for: server.address, contentLength: 0))
        conversation.hangUp()
        // The server may or may not have started the commit.
        let reply = try alice.commit(masterVersion: 0, overriding: ["commitId": id])
        try alice.onAnotherDevice().commitStaged(masterVersion: 1)
        let again = try alice.commit(masterVersion: 0, overriding: ["commitId": id])

        #expect(reply.json == .object(["numberUploadsTransferred": .integer(1)]))
        #expect(again.json == reply.json)
        #expect(try alice.index().masterVersion == 2)
        expectStale(try alice.commit(masterVersion: 0), 2)
        expectError(try alice.commit(masterVersion: 2, overriding: ["commitId": id]), 409)
        expectError(try alice.commit(masterVersion: 2, overriding: ["commitId": "no UUID"]), 400)
    }

    @Test("Simultaneous identical commits on several connections are one commit with one reply")
    func concurrent() async throws {
        let alice = try server.signUpOwningUser()
        for masterVersion in Int64(0)..<4 {
            let id = UUID().uuidString
            try alice.stage(TestFile("\(masterVersion)"), masterVersion: masterVersion)

            let replies = try await Threads.run(4) { _ in
                try alice.commit(masterVersion: masterVersion, overriding: ["commitId": id])
            }

            for reply in replies {
                #expect(reply.json == .object(["numberUploadsTransferred": .integer(1)]), "\(reply)")
            }
            #expect(try alice.index().masterVersion == masterVersion + 1)
        }
    }
}
