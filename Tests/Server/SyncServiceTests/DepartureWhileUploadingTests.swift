import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

/// Actions of the group and its members between the first check of an upload and its staging.
@Suite("Uploads whose group or users are removed while bytes are transferred")
struct DepartureWhileUploadingTests {
    private let server: TestServer
    private let alice: Phone
    private let bob: Phone
    private let bytes = someBytes(300_000)

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        bob = try server.join(alice, as: "bob")
    }

    private var stagedRows: Int { get throws { try server.count("SELECT COUNT(*) FROM staged_changes") } }
    /// The number of objects that are now due for deletion.
    private var dueDeletions: Int {
        get throws {
            try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND lease_owner IS NULL")
        }
    }

    /// Bob's upload; `event` happens when its last byte has reached the cloud.
    private func upload(
        of file: FileUUID = someFile(), version: Int32 = 0, master: Int64 = 1,
        while event: @escaping @Sendable () -> Void
    ) -> FakeConnection {
        var behaviour = FakeCloud.Behaviour()
        behaviour.afterUpload = event
        server.cloud.behaviour = behaviour
        return server.upload(bytes, of: file, version: version, master: master, by: bob)
    }

    @Test("The group is removed: the uploader is no longer a member, and the object is deleted")
    func groupRemoved() throws {
        let (server, alice) = (server, alice)

        let reply = upload {
            #expect(
                server.send(
                    RemoveSharingGroupRequest(sharingGroupUUID: alice.group, masterVersion: MasterVersion(1)), as: alice
                ).status == 200)
        }

        #expect(reply.code == "not_a_member")
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
    }

    @Test("The uploader leaves on another device: nothing is staged, and the object is deleted")
    func uploaderLeaves() throws {
        let (server, bob) = (server, bob)

        let reply = upload {
            #expect(
                server.send(
                    RemoveUserFromSharingGroupRequest(
                        sharingGroupUUID: bob.group, masterVersion: MasterVersion(1)), as: bob
                ).status == 200)
        }

        #expect(reply.code == "not_a_member")
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
    }

    @Test("The uploader is demoted to reader: nothing is staged, and the object is deleted")
    func permissionLowered() throws {
        let (server, alice) = (server, alice)
        let bobsID = try server.userID(of: bob)

        let reply = upload {
            #expect(
                server.send(
                    UpdateSharingGroupMemberRequest(
                        sharingGroupUUID: alice.group, masterVersion: MasterVersion(1), userID: bobsID,
                        permission: .read), as: alice
                ).status == 200)
        }

        #expect(reply.code == "permission_too_low")
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
    }

    @Test("The uploader's account is removed: nothing is staged, and the object is deleted")
    func uploaderRemoved() throws {
        let (server, bob) = (server, bob)

        let reply = upload { #expect(server.send(RemoveUserRequest(), as: bob).status == 200) }

        #expect(reply.code == "not_a_member")
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
    }

    @Test("The owner's account is removed: the upload is stale, and its object is deleted")
    func ownerRemoved() throws {
        let (server, alice) = (server, alice)

        let reply = upload { #expect(server.send(RemoveUserRequest(), as: alice).status == 200) }

        #expect(reply.messageParams["masterVersionUpdate"] as? Int == 2)
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
        #expect(server.upload(bytes, of: someFile(), master: 2, by: bob).code == "owner_removed")
    }

    @Test("The owner leaves: the upload is stale, and its object is deleted")
    func ownerLeaves() throws {
        let (server, alice) = (server, alice)

        let reply = upload {
            #expect(
                server.send(
                    RemoveUserFromSharingGroupRequest(
                        sharingGroupUUID: alice.group, masterVersion: MasterVersion(1)), as: alice
                ).status == 200)
        }

        #expect(reply.messageParams["masterVersionUpdate"] as? Int == 2)
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
        #expect(server.upload(bytes, of: someFile(), master: 2, by: bob).code == "owner_removed")
    }

    @Test("A deletion that the same device stages meanwhile is replaced by the upload, which comes later")
    func deletionMeanwhile() throws {
        let (server, bob) = (server, bob)
        let file = someFile()
        #expect(server.upload(bytes, of: file, master: 1, by: bob).status == 200)
        #expect(server.commit(from: 1, by: bob).status == 200)

        let reply = upload(of: file, version: 1, master: 2) {
            #expect(
                server.send(
                    UploadDeletionRequest(
                        fileUUID: file, fileVersion: FileVersion(0), masterVersion: MasterVersion(2),
                        sharingGroupUUID: bob.group), as: bob
                ).status == 200)
        }

        #expect(reply.status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes WHERE kind = 'upload' AND file_version = 1") == 1)
    }

    @Test("Metadata that the same device stages meanwhile join the upload")
    func metadataMeanwhile() throws {
        let (server, bob) = (server, bob)
        let file = someFile()
        #expect(server.upload(bytes, of: file, master: 1, by: bob).status == 200)
        #expect(server.commit(from: 1, by: bob).status == 200)

        let reply = upload(of: file, version: 1, master: 2) {
            #expect(
                server.send(
                    UploadAppMetaDataRequest(
                        fileUUID: file, appMetaData: AppMetaData(version: AppMetaDataVersion(0), contents: "joined"),
                        masterVersion: MasterVersion(2), sharingGroupUUID: bob.group), as: bob
                ).status == 200)
        }

        #expect(reply.status == 200)
        #expect(
            try server.count(
                "SELECT COUNT(*) FROM staged_changes WHERE kind = 'upload' AND app_metadata = 'joined'") == 1)
    }
}
