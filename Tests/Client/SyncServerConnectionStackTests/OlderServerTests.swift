import Foundation
import SyncProtocol
import SyncServerConnection
import TestSupport
import Testing

@Suite("The connection against a server without extensions")
struct OlderServerTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func phone(_ provider: SandboxProvider = .google) async throws -> Phone {
        try await Phone.signedUp(server, provider, isOlderServer: true)
    }

    @Test("A file's life", arguments: [SandboxProvider.google, .dropbox, .microsoft])
    func life(provider: SandboxProvider) async throws {
        let phone = try await phone(provider)
        let bytes = Data("Hello World".utf8)
        let uuid = try await phone.publish(
            bytes, masterVersion: 0, metadata: AppMetaData(version: .first, contents: "a & b"))
        #expect(try await phone.files()?.masterVersion == MasterVersion(1))
        #expect(await phone.connection.extensions == .absent)
        #expect(await phone.connection.serverVersion == ServerVersion(0, 25, 1))

        let copy = phone.newFile
        let downloaded = try await phone.download(uuid, masterVersion: 1, metadata: .first, to: copy)
        #expect(downloaded.value?.appMetaData == "a & b")
        #expect(try Data(contentsOf: copy) == bytes)

        let request = UploadAppMetaDataRequest(
            fileUUID: uuid,
            appMetaData: AppMetaData(version: AppMetaDataVersion(1), contents: String(repeating: "x", count: 32_000)),
            masterVersion: MasterVersion(1), sharingGroupUUID: phone.group)
        #expect(try await phone.connection.uploadAppMetaData(request) == .success(StagedChange()))
        #expect(try await phone.commit(1) == .success(1))
        #expect(
            try await phone.connection.uploadDeletion(
                UploadDeletionRequest(
                    fileUUID: uuid, fileVersion: .first, masterVersion: MasterVersion(2), sharingGroupUUID: phone.group)
            )
                == .success(StagedChange()))
        #expect(try await phone.commit(2) == .success(1))
        #expect(try await phone.commit(1) == .stale(current: MasterVersion(3)))
    }

    @Test("An index is complete and has no tag, regardless of the request")
    func index() async throws {
        let phone = try await phone()
        _ = try await phone.publish(Data("one".utf8), masterVersion: 0)
        guard case .changed(let response, nil) = try await phone.index(since: 1, tag: "\"x\"") else {
            Issue.record("expected no tag")
            return
        }
        #expect(response.files?.since == nil)
        #expect(response.files?.fileIndex.count == 1)
    }

    @Test("A batch is only staged, and needs a commit")
    func batch() async throws {
        let phone = try await phone()
        let batch = UploadBatch(
            batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 1, pushNotificationMessage: "a & b")
        let staged = try await phone.upload(
            Data("1".utf8), as: FileUUID(UUID().uuidString)!, masterVersion: 0, batch: batch)
        #expect(staged.value != nil)
        #expect(staged.value?.committedMasterVersion == nil)
        #expect(try await phone.commit(0) == .success(1))
    }

    @Test("Missing endpoints are reported as not supported")
    func notSupported() async throws {
        let phone = try await phone()
        let discard = try await failure {
            try await phone.connection.discardUploads(DiscardUploadsRequest(sharingGroupUUID: phone.group))
        }
        let members = try await failure { try await phone.connection.sharingGroupMembers(phone.group) }
        let invitations = try await failure { try await phone.connection.sharingInvitations(to: phone.group) }
        for error in [discard, members, invitations] { #expect(error?.code == .notSupported) }
    }

    @Test("A commit whose reply is lost is not repeated, with or without an id")
    func lostCommit() async throws {
        let phone = try await phone()
        _ = try await phone.upload(Data("x".utf8), as: FileUUID(UUID().uuidString)!, masterVersion: 0)
        _ = try await phone.index()
        phone.executor.loseReplies(1)

        let error = try await failure { try await phone.commit(0) }

        #expect(error?.code == .connectionLost)
        #expect(try await phone.files()?.masterVersion == MasterVersion(1))
    }

    @Test("A rejected token is replaced even without an error code; a token without a user is a result of CheckCreds")
    func tokens() async throws {
        let phone = try await phone()
        phone.credentials.forgetToken()
        _ = try await phone.index()
        #expect(phone.credentials.refreshes == 1)

        let stranger = try Phone(server.newcomer(), isOlderServer: true)
        #expect(try await stranger.connection.checkCredentials() == .noUser(nil))
    }

    @Test("A removed user receives only the reason")
    func gone() async throws {
        let alice = try await phone()
        let invitation = try await alice.connection.createSharingInvitation(
            CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group))
        let bob = try Phone(server.newcomer(.facebook), isOlderServer: true)
        _ = try await bob.connection.redeemSharingInvitation(
            RedeemSharingInvitationRequest(sharingInvitationUUID: invitation))
        let leave = RemoveUserFromSharingGroupRequest(sharingGroupUUID: alice.group, masterVersion: MasterVersion(1))
        #expect(try await bob.connection.removeUserFromSharingGroup(leave).value != nil)
        guard case .gone(let gone) = try await bob.connection.removeUserFromSharingGroup(leave) else {
            Issue.record("expected the group to be gone")
            return
        }
        #expect(gone == Gone(.userRemoved))
        #expect(try await bob.connection.sharingInvitationInfo(invitation) == nil)
    }

    @Test("Errors without a code are ordinary failures")
    func refusal() async throws {
        let phone = try await phone()
        let error = try await failure {
            try await phone.connection.index(IndexRequest(sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!))
        }
        #expect(error?.status == 500)
        #expect(error?.code == .serverFailed)
        #expect(error?.serverCode == nil)
        #expect(error?.requestID == nil)
    }
}
