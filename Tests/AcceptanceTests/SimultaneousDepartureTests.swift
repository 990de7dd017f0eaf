import TestSupport
import Testing

@Suite("Simultaneous requests to leave a group")
struct SimultaneousDepartureTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Of simultaneous requests to leave, one succeeds, and the others report the missing membership, never stale")
    func leaveTwice() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)

        for _ in 0..<25 {
            let group = try alice.newGroup()
            let member = try alice.invite(.write, group: group)
            #expect(try bob.redeem(member).status == 200)
            let replies = try await Threads.run(4) { _ in try bob.leave(masterVersion: 1, group: group) }

            #expect(replies.count { $0.status == 200 && $0.json == .object([:]) } == 1)
            for reply in replies where reply.status != 200 {
                expectError(reply, 410, 429, goneReason: reply.status == 410 ? "userRemoved" : nil)
            }
            #expect(replies.allSatisfy { $0.masterVersionUpdate == nil }, "\(replies)")
        }
    }
}
