import MariaDB
import SyncProtocol
import TestSupport
import Testing

/// A request may name the master version that another change is about to create. It then waits for that change, and
/// must not use the rights that its sender had before.
@Suite("Requests whose sender loses the permission while they wait for the group's lock")
struct RightsLostMeanwhileTests {
    private let server: TestServer
    private let bob: Phone

    init() throws {
        server = try TestServer()
        bob = try server.join(server.signUp(), as: "bob", .admin)
    }

    /// The code in the reply to Bob, whose request arrives during his demotion to reader, which advances master version
    /// 1 to 2.
    private func code(of request: some RequestMessage & Sendable) async throws -> String? {
        let (server, bob) = (server, bob)
        var other = try Connection(#require(server.settings))
        try other.begin()
        try other.execute("UPDATE memberships SET permission = 'read' WHERE invitation_uuid IS NOT NULL")
        try other.execute("UPDATE sharing_groups SET master_version = 2")
        async let code = Threads.run { server.send(request, as: bob).code }
        // The statement that locks the row; rights are read by one that joins tables.
        try await eventually("Bob's request waits for the group's row") {
            try server.count(
                """
                SELECT COUNT(*)
                  FROM information_schema.processlist
                 WHERE db = DATABASE()
                   AND id <> CONNECTION_ID()
                   AND info LIKE '%sharing_groups%'
                   AND info NOT LIKE '%JOIN%'
                """) == 1
        }
        try other.commit()
        return try await code
    }

    private func expectNothingHappened() throws {
        #expect(try server.count("SELECT COUNT(*) FROM sharing_groups WHERE is_deleted OR name IS NOT NULL") == 0)
        #expect(try server.count("SELECT master_version FROM sharing_groups") == 2)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 0)
    }

    @Test("The group is not removed")
    func removal() async throws {
        let request = RemoveSharingGroupRequest(sharingGroupUUID: bob.group, masterVersion: MasterVersion(2))

        #expect(try await code(of: request) == "permission_too_low")
        try expectNothingHappened()
    }

    @Test("Nothing is committed, and the group keeps its name")
    func commit() async throws {
        let request = DoneUploadsRequest(
            masterVersion: MasterVersion(2), sharingGroupUUID: bob.group, sharingGroupName: "Bob's")

        #expect(try await code(of: request) == "permission_too_low")
        try expectNothingHappened()
    }

    @Test("Nothing is staged")
    func staging() async throws {
        let request = UploadDeletionRequest(
            fileUUID: someFile(), fileVersion: .first, masterVersion: MasterVersion(2), sharingGroupUUID: bob.group)

        #expect(try await code(of: request) == "permission_too_low")
        try expectNothingHappened()
    }
}
