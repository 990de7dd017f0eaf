import Foundation
import SyncProtocol
import SyncServerConnection
import TestSupport
import Testing

@Suite("The connection against the server")
struct ConversationTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Signing in: an unknown user, a user, and the user removed")
    func signIn() async throws {
        let phone = try Phone(server.newcomer())
        #expect(try await phone.connection.healthCheck().serverUptime > 0)
        #expect(try await phone.connection.checkCredentials() == .noUser(.known(.userUnknown)))

        let user = try await phone.connection.addUser(
            AddUserRequest(sharingGroupUUID: phone.group, cloudFolderName: "Folder"))
        guard case .user(let known) = try await phone.connection.checkCredentials() else {
            Issue.record("expected a user")
            return
        }
        #expect(known.userID == user.userID)

        let again = try await failure {
            try await phone.connection.addUser(
                AddUserRequest(sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!, cloudFolderName: "Folder"))
        }
        #expect(again?.serverCode == .known(.userExists))
        try await phone.connection.removeUser()
        #expect(try await phone.connection.checkCredentials() == .noUser(.known(.userUnknown)))
        #expect(await phone.connection.serverVersion == ServerVersion(1, 0, 0))
    }

    @Test("A long-lived Facebook token is returned")
    func longLivedToken() async throws {
        let alice = try await Phone.signedUp(server)
        let invitation = try await alice.connection.createSharingInvitation(
            CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group))
        let bob = try Phone(server.newcomer(.facebook, name: "Bob"))

        guard
            case .joined(let user, alice.group) = try await bob.connection.redeemSharingInvitation(
                RedeemSharingInvitationRequest(sharingInvitationUUID: invitation))
        else {
            Issue.record("did not join")
            return
        }

        #expect(user.accessToken != nil)
        #expect(user.accessToken?.value != bob.user.account.accessToken)
    }

    @Test("An index can be requested conditionally, and for changes only")
    func index() async throws {
        let phone = try await Phone.signedUp(server)
        let old = try await phone.publish(Data("old".utf8), masterVersion: 0)
        guard case .changed(let whole, let tag?) = try await phone.index() else {
            Issue.record("expected a tag")
            return
        }
        #expect(whole.sharingGroups.map(\.sharingGroupName) == ["Tom & Jerry + 100 %"])
        #expect(whole.sharingGroups.first?.permission == .admin)
        #expect(await phone.connection.extensions == .present)

        #expect(try await phone.index(tag: tag) == .unchanged)
        let new = try await phone.publish(Data("new".utf8), masterVersion: 1)
        #expect(try await phone.index(tag: tag) != .unchanged)

        let changes = try await phone.files(since: 1)
        #expect(changes?.since == MasterVersion(1))
        #expect(changes?.fileIndex.map(\.fileUUID) == [new])
        #expect(Set(try await phone.files()?.fileIndex.map(\.fileUUID) ?? []) == [old, new])

        let unknown = SharingGroupUUID(UUID().uuidString)!
        let error = try await failure {
            try await phone.connection.index(IndexRequest(sharingGroupUUID: unknown))
        }
        #expect(error?.serverCode == .known(.groupUnknown))
        #expect(error?.requestID != nil)
    }

    @Test("A stale master version is a result, and nothing is changed")
    func stale() async throws {
        let phone = try await Phone.signedUp(server)
        let uuid = try await phone.publish(Data("one".utf8), masterVersion: 0)
        let current = MasterVersion(1)
        let (group, copy) = (phone.group, phone.newFile)
        let wrong = MasterVersion(7)
        let connection = phone.connection

        #expect(
            try await phone.upload(Data("two".utf8), as: uuid, version: FileVersion(1), masterVersion: 7)
                == .stale(current: current))
        #expect(try await phone.download(uuid, masterVersion: 7, to: copy) == .stale(current: current))
        #expect(!FileManager.default.fileExists(atPath: copy.path))
        #expect(
            try await connection.uploadAppMetaData(
                UploadAppMetaDataRequest(
                    fileUUID: uuid, appMetaData: AppMetaData(version: .first, contents: ""), masterVersion: wrong,
                    sharingGroupUUID: group)) == .stale(current: current))
        #expect(
            try await connection.uploadDeletion(
                UploadDeletionRequest(
                    fileUUID: uuid, fileVersion: .first, masterVersion: wrong, sharingGroupUUID: group))
                == .stale(current: current))
        #expect(try await phone.commit(7) == .stale(current: current))
        guard
            case .stale(current) = try await connection.updateSharingGroup(
                UpdateSharingGroupRequest(sharingGroupUUID: group, sharingGroupName: "x", masterVersion: wrong)),
            case .stale(current) = try await connection.removeUserFromSharingGroup(
                RemoveUserFromSharingGroupRequest(sharingGroupUUID: group, masterVersion: wrong)),
            case .stale(current) = try await connection.removeSharingGroup(
                RemoveSharingGroupRequest(sharingGroupUUID: group, masterVersion: wrong))
        else {
            Issue.record("expected a stale result")
            return
        }
        #expect(try await connection.uploads(in: group).isEmpty)
    }

    @Test("A group with its members and invitations")
    func group() async throws {
        let alice = try await Phone.signedUp(server)
        let connection = alice.connection
        let group = SharingGroupUUID(UUID().uuidString)!
        try await connection.createSharingGroup(
            CreateSharingGroupRequest(sharingGroupUUID: group, sharingGroupName: "Holidays"))

        // Invitations.
        let code = try await connection.createSharingInvitation(
            CreateSharingInvitationRequest(
                permission: .write, sharingGroupUUID: group, allowSocialAcceptance: false, numberOfAcceptors: 2))
        let info = try await connection.sharingInvitationInfo(code)
        #expect(
            info
                == GetSharingInvitationInfoResponse(
                    permission: .write, allowSocialAcceptance: false, sharingGroupName: "Holidays",
                    invitingUserName: alice.user.account.name))
        #expect(try await connection.sharingInvitationInfo(SharingInvitationUUID(UUID().uuidString)!) == nil)
        #expect(try await connection.sharingInvitations(to: group).map(\.sharingInvitationUUID) == [code])

        let facebook = try Phone(server.newcomer(.facebook))
        let redeem = RedeemSharingInvitationRequest(sharingInvitationUUID: code)
        #expect(try await facebook.connection.redeemSharingInvitation(redeem) == .storageAccountRequired)
        let dropbox = try Phone(server.newcomer(.dropbox))
        guard case .joined(let bob, group) = try await dropbox.connection.redeemSharingInvitation(redeem) else {
            Issue.record("did not join")
            return
        }
        try await connection.revokeSharingInvitation(
            RevokeSharingInvitationRequest(sharingGroupUUID: group, sharingInvitationUUID: code))
        #expect(try await facebook.connection.redeemSharingInvitation(redeem) == .invitationUnknown)

        // Members; the joining has raised the master version.
        let members = try await connection.sharingGroupMembers(group)
        #expect(members.masterVersion == MasterVersion(1))
        #expect(members.sharingGroupMembers.map(\.permission) == [.admin, .write])
        let promotion = try await connection.updateSharingGroupMember(
            UpdateSharingGroupMemberRequest(
                sharingGroupUUID: group, masterVersion: MasterVersion(1), userID: bob.userID, permission: .read))
        #expect(promotion.value != nil)
        let write = try await failure { try await dropbox.connection.uploads(in: group) }
        #expect(write?.serverCode == .known(.permissionTooLow))
        let removal = try await connection.removeSharingGroupMember(
            RemoveSharingGroupMemberRequest(
                sharingGroupUUID: group, masterVersion: MasterVersion(2), userID: bob.userID))
        #expect(removal.value != nil)
        let leave = RemoveUserFromSharingGroupRequest(sharingGroupUUID: group, masterVersion: MasterVersion(3))
        guard case .gone(let gone) = try await dropbox.connection.removeUserFromSharingGroup(leave) else {
            Issue.record("expected the group to be gone")
            return
        }
        #expect(gone == Gone(.userRemoved, serverCode: .known(.notAMember)))

        // The group.
        let rename = UpdateSharingGroupRequest(
            sharingGroupUUID: group, sharingGroupName: "a & b = 100 % +", masterVersion: MasterVersion(3))
        #expect(try await connection.updateSharingGroup(rename).value != nil)
        guard case .changed(let index, _) = try await connection.index(IndexRequest()) else { return }
        #expect(index.sharingGroups.contains { $0.sharingGroupName == "a & b = 100 % +" })
        let only = try await failure {
            try await connection.removeSharingGroupMember(
                RemoveSharingGroupMemberRequest(
                    sharingGroupUUID: group, masterVersion: MasterVersion(4),
                    userID: members.sharingGroupMembers[0].userId))
        }
        #expect(only?.serverCode == .known(.lastAdmin))
        let remove = RemoveSharingGroupRequest(sharingGroupUUID: group, masterVersion: MasterVersion(4))
        #expect(try await connection.removeSharingGroup(remove).value != nil)
    }

    @Test("A device is registered for notifications")
    func push() async throws {
        let phone = try await Phone.signedUp(server)
        try await phone.connection.registerPushNotificationToken(
            RegisterPushNotificationTokenRequest(
                pushNotificationToken: String(repeating: "0a", count: 32), pushNotificationKind: .apns,
                pushNotificationEnvironment: .production))
    }

    @Test("Staged changes are discarded")
    func discard() async throws {
        let phone = try await Phone.signedUp(server)
        let (kept, dropped) = (FileUUID(UUID().uuidString)!, FileUUID(UUID().uuidString)!)
        for uuid in [kept, dropped] { _ = try await phone.upload(Data("x".utf8), as: uuid, masterVersion: 0) }

        let count = try await phone.connection.discardUploads(
            DiscardUploadsRequest(sharingGroupUUID: phone.group, fileUUIDs: [dropped]))

        #expect(count == 1)
        #expect(try await phone.connection.uploads(in: phone.group).map(\.fileUUID) == [kept])
    }

    @Test("A batch is committed by its last upload")
    func batch() async throws {
        let phone = try await Phone.signedUp(server)
        let batch = UploadBatch(
            batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 2, pushNotificationMessage: "two & two")
        let first = try await phone.upload(
            Data("1".utf8), as: FileUUID(UUID().uuidString)!, masterVersion: 0, batch: batch)
        let second = try await phone.upload(
            Data("2".utf8), as: FileUUID(UUID().uuidString)!, masterVersion: 0, batch: batch)
        #expect(first.value?.committedMasterVersion == nil)
        #expect(second.value?.committedMasterVersion == MasterVersion(1))
    }

    @Test("Lost replies change nothing: one commit, one row, one group")
    func lostReplies() async throws {
        let phone = try await Phone.signedUp(server)
        _ = try await phone.index()
        let uuid = FileUUID(UUID().uuidString)!

        phone.executor.loseReplies(2)
        #expect(try await phone.upload(Data("x".utf8), as: uuid, masterVersion: 0).value != nil)
        #expect(try await phone.connection.uploads(in: phone.group).count == 1)

        phone.executor.loseReplies(3)
        let before = phone.executor.count
        #expect(try await phone.commit(0) == .success(1))
        #expect(phone.executor.count == before + 4)
        #expect(try await phone.files()?.masterVersion == MasterVersion(1))

        phone.executor.loseReplies(1)
        try await phone.connection.createSharingGroup(
            CreateSharingGroupRequest(sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!))
    }

    @Test("An expired token is replaced once, however many requests are rejected")
    func expiredToken() async throws {
        let phone = try await Phone.signedUp(server)
        phone.credentials.forgetToken()

        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 1...6 { tasks.addTask { _ = try await phone.connection.index(IndexRequest()) } }
            try await tasks.waitForAll()
        }

        #expect(phone.credentials.refreshes == 1)
    }

    @Test("An upload succeeds after its token is replaced")
    func expiredTokenOfUpload() async throws {
        let phone = try await Phone.signedUp(server)
        phone.credentials.forgetToken()
        let bytes = Data(RandomData.bytes(3_000_000))
        #expect(
            try await phone.upload(bytes, as: FileUUID(UUID().uuidString)!, masterVersion: 0).value != nil)
        #expect(phone.credentials.refreshes == 1)
    }

    @Test("A token without a user requires a sign-in")
    func strangersToken() async throws {
        let phone = try Phone(server.newcomer())
        let error = try await failure { try await phone.connection.index(IndexRequest()) }
        #expect(error?.code == .signInRequired)
        #expect(error?.serverCode == .known(.userUnknown))
        #expect(phone.credentials.refreshes == 0)
    }

    @Test("A long upload that is cancelled ends immediately and stages nothing")
    func cancelledUpload() async throws {
        let phone = try await Phone.signedUp(server)
        let file = try phone.file(Data(count: 200_000_000))
        let request = UploadFileRequest(
            fileUUID: FileUUID(UUID().uuidString)!, sharingGroupUUID: phone.group, mimeType: MIMEType("text/plain")!,
            fileVersion: .first, masterVersion: MasterVersion(0), checkSum: CheckSum(String(repeating: "0", count: 32))!
        )
        let (moving, moves) = AsyncStream.makeStream(of: TransferProgress.self)

        let task = Task {
            try await phone.connection.uploadFile(request, from: file) { moves.yield($0) }
        }
        var seen: TransferProgress?
        for await progress in moving where progress.sentBytes > 0 {
            seen = progress
            break
        }
        task.cancel()
        let error = try await failure { try await task.value }

        #expect(error?.code == .cancelled)
        #expect(try #require(seen).sentBytes < 200_000_000)
        #expect(phone.executor.count == 2, "the sign-up, and one upload")
        #expect(try await phone.connection.uploads(in: phone.group).isEmpty)
    }

    @Test("A long download that is cancelled leaves no file")
    func cancelledDownload() async throws {
        let phone = try await Phone.signedUp(server)
        let uuid = try await phone.publish(Data(count: 40_000_000), masterVersion: 0)
        let copy = phone.newFile
        let request = DownloadFileRequest(
            fileUUID: uuid, fileVersion: .first, masterVersion: MasterVersion(1), sharingGroupUUID: phone.group)
        let (moving, moves) = AsyncStream.makeStream(of: TransferProgress.self)

        let task = Task {
            try await phone.connection.downloadFile(request, to: copy) { moves.yield($0) }
        }
        for await progress in moving where progress.receivedBytes > 0 { break }
        task.cancel()
        let error = try await failure { try await task.value }

        #expect(error?.code == .cancelled)
        #expect(!FileManager.default.fileExists(atPath: copy.path))
    }

    @Test("A server with an untrusted certificate receives no request")
    func untrusted() async throws {
        let user = try server.newcomer()
        let connection = ServerConnection(
            ServerConnectionConfiguration(
                baseURL: URL(string: server.secureURL)!, deviceUUID: DeviceUUID(user.device)!),
            credentialProvider: PhoneCredentials(user.account))
        let error = try await failure { try await connection.checkCredentials() }
        #expect(error?.code == .untrustedServer, "\(String(reflecting: error))")
    }
}
