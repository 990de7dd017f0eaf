import Foundation
import SyncProtocol
import SyncServerConnection
import TestSupport
import Testing

@Suite("Versions, metadata, commits and dates, with and without extensions")
struct VersionTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private static let isOlder = [false, true]

    private func phone(_ isOlder: Bool) async throws -> Phone {
        try await Phone.signedUp(server, isOlderServer: isOlder)
    }

    private func upload(
        _ phone: Phone, _ bytes: Data, as uuid: FileUUID, _ type: String = "text/plain", version: Int32 = 0,
        masterVersion: Int64, text: AppMetaData? = nil, fileGroup: FileGroupUUID? = nil, undeletes: Bool = false
    ) async throws -> Outcome<StagedFile> {
        let file = try phone.file(bytes)
        let request = UploadFileRequest(
            fileUUID: uuid, sharingGroupUUID: phone.group, mimeType: try #require(MIMEType(type)),
            fileVersion: FileVersion(version), masterVersion: MasterVersion(masterVersion),
            checkSum: try await CheckSum.ofFile(at: file, flavour: phone.storage.checkSumFlavour),
            fileGroupUUID: fileGroup, appMetaData: text, undeleteServerFile: undeletes)
        return try await phone.connection.uploadFile(request, from: file)
    }

    private func delete(_ phone: Phone, _ uuid: FileUUID, version: Int32, masterVersion: Int64) async throws {
        let outcome = try await phone.connection.uploadDeletion(
            UploadDeletionRequest(
                fileUUID: uuid, fileVersion: FileVersion(version), masterVersion: MasterVersion(masterVersion),
                sharingGroupUUID: phone.group))
        #expect(outcome.value != nil)
    }

    private func row(_ phone: Phone, _ uuid: FileUUID) async throws -> FileInfo? {
        try await phone.files()?.fileIndex.first { $0.fileUUID == uuid }
    }

    @Test("The health check needs no credentials, and returns the time", arguments: isOlder)
    func health(isOlder: Bool) async throws {
        let phone = try Phone(server.newcomer(), isOlderServer: isOlder)
        let reply = try await phone.connection.healthCheck()
        #expect(reply.serverUptime > 0 && WireDate(reply.currentServerDateTime.description) != nil)
    }

    @Test("The group of the sign-up is listed with its name, and the user is its admin", arguments: isOlder)
    func firstGroup(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        guard case .changed(let index, _) = try await phone.index() else { return }
        let group = try #require(index.sharingGroups.first)
        #expect(index.sharingGroups.count == 1 && group.sharingGroupUUID == phone.group)
        #expect(group.sharingGroupName == "Tom & Jerry + 100 %" && group.permission == .admin && !group.deleted)
        #expect(group.masterVersion == MasterVersion(0))
        #expect(index.files?.fileIndex.isEmpty == true && index.files?.masterVersion == MasterVersion(0))
    }

    @Test("A user can only remove themselves, and can be added again", arguments: isOlder)
    func removal(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let stranger = try Phone(server.newcomer(), isOlderServer: isOlder)
        #expect(try await failure { try await stranger.connection.removeUser() }?.code == .signInRequired)

        try await phone.connection.removeUser()
        let again = try await Phone(
            try phone.user.signedInAgain(), isOlderServer: isOlder
        ).connection.addUser(
            AddUserRequest(
                sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!, cloudFolderName: phone.user.folder))
        #expect(again.userID.description.isEmpty == false)
    }

    @Test("Uploads require a sign-in", arguments: isOlder)
    func unauthenticated(isOlder: Bool) async throws {
        let stranger = try Phone(server.newcomer(), isOlderServer: isOlder)
        let error = try await failure {
            try await stranger.upload(Data("x".utf8), as: FileUUID(UUID().uuidString)!, masterVersion: 0)
        }
        #expect(error?.code == .signInRequired)
    }

    @Test("Texts, pictures and links, several at once, round-trip unchanged", arguments: isOlder)
    func types(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let contents: [(FileUUID, String, Data, String?)] = [
            (FileUUID(UUID().uuidString)!, "text/plain", Data("Hällo\n".utf8), "a & b = ä"),
            (FileUUID(UUID().uuidString)!, "image/jpeg", Data(RandomData.bytes(120_000)), nil),
            (
                FileUUID(UUID().uuidString)!, "application/x-url",
                Data("[InternetShortcut]\nURL=https://example.com/".utf8), nil
            ),
        ]
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (uuid, type, bytes, text) in contents {
                tasks.addTask {
                    let staged = try await upload(
                        phone, bytes, as: uuid, type, masterVersion: 0,
                        text: text.map { AppMetaData(version: .first, contents: $0) })
                    #expect(staged.value != nil)
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try await phone.commit(0) == .success(3))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (uuid, type, bytes, text) in contents {
                tasks.addTask {
                    let copy = phone.newFile
                    let downloaded = try await phone.download(
                        uuid, masterVersion: 1, metadata: text.map { _ in .first }, to: copy)
                    #expect(downloaded.value?.appMetaData == text)
                    #expect(try Data(contentsOf: copy) == bytes)
                    #expect(try await row(phone, uuid)?.mimeType == MIMEType(type))
                }
            }
            try await tasks.waitForAll()
        }
    }

    @Test("Dates lie between the server's time before and after; the file group is listed", arguments: isOlder)
    func dates(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let (uuid, fileGroup) = (FileUUID(UUID().uuidString)!, FileGroupUUID(UUID().uuidString)!)
        let before = try #require(WireDate(server.clock()))
        let staged = try #require(
            try await upload(phone, Data("x".utf8), as: uuid, masterVersion: 0, fileGroup: fileGroup).value)
        let after = try #require(WireDate(server.clock()))
        _ = try await phone.commit(0)

        let listed = try #require(try await row(phone, uuid))
        for date in [staged.creationDate, staged.updateDate, listed.creationDate, listed.updateDate] {
            let seconds = try #require(date).secondsSince1970
            #expect((before.secondsSince1970...after.secondsSince1970).contains(seconds))
        }
        #expect(listed.fileGroupUUID == fileGroup)
    }

    @Test(
        "Versions are neither skipped nor repeated, up to a text's sixth and a picture's third",
        arguments: isOlder)
    func versions(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let (text, picture) = (FileUUID(UUID().uuidString)!, FileUUID(UUID().uuidString)!)
        var master: Int64 = 0
        for version in 0...5 {
            let skipped = try await failure {
                try await upload(
                    phone, Data("x".utf8), as: text, version: Int32(version + 1), masterVersion: master)
            }
            #expect(skipped != nil, "version \(version + 1) instead of \(version)")
            _ = try await upload(
                phone, Data("text \(version)".utf8), as: text, version: Int32(version), masterVersion: master)
            if version < 3 {
                _ = try await upload(
                    phone, Data("picture \(version)".utf8), as: picture, "image/jpeg", version: Int32(version),
                    masterVersion: master)
            }
            #expect(try await phone.commit(master) == .success(version < 3 ? 2 : 1))
            master += 1
        }
        let copy = phone.newFile
        #expect(try await phone.download(text, version: FileVersion(5), masterVersion: master, to: copy).value != nil)
        #expect(try Data(contentsOf: copy) == Data("text 5".utf8))
        #expect(
            try await phone.download(picture, version: FileVersion(2), masterVersion: master, to: copy).value != nil)
        #expect(try Data(contentsOf: copy) == Data("picture 2".utf8))
    }

    @Test(
        "Metadata begin with version 0 and are incremented; a file version without metadata keeps them",
        arguments: isOlder)
    func texts(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let uuid = FileUUID(UUID().uuidString)!
        func textUpload(_ version: Int32, _ contents: String, masterVersion: Int64) async throws -> Bool {
            try await phone.connection.uploadAppMetaData(
                UploadAppMetaDataRequest(
                    fileUUID: uuid, appMetaData: AppMetaData(version: AppMetaDataVersion(version), contents: contents),
                    masterVersion: MasterVersion(masterVersion), sharingGroupUUID: phone.group)
            ).value != nil
        }
        #expect(try await failure { try await textUpload(0, "x", masterVersion: 0) } != nil, "the file does not exist")
        #expect(
            try await failure {
                try await upload(
                    phone, Data("0".utf8), as: uuid, masterVersion: 0,
                    text: AppMetaData(version: AppMetaDataVersion(1), contents: "x"))
            } != nil)
        _ = try await upload(phone, Data("0".utf8), as: uuid, masterVersion: 0)
        _ = try await phone.commit(0)
        #expect(try await failure { try await textUpload(1, "x", masterVersion: 1) } != nil, "the first version is 0")

        for (version, text) in ["first", "second"].enumerated() {
            let master = Int64(version + 1)
            #expect(try await textUpload(Int32(version), text, masterVersion: master))
            #expect(try await phone.commit(master) == .success(1))
            let known = try await phone.connection.downloadAppMetaData(
                DownloadAppMetaDataRequest(
                    fileUUID: uuid, appMetaDataVersion: AppMetaDataVersion(Int32(version)),
                    masterVersion: MasterVersion(master + 1), sharingGroupUUID: phone.group))
            #expect(known == .success(text))
        }
        _ = try await upload(phone, Data("1".utf8), as: uuid, version: 1, masterVersion: 3)
        _ = try await phone.commit(3)
        let listed = try await row(phone, uuid)
        #expect(listed?.appMetaDataVersion == AppMetaDataVersion(1) && listed?.fileVersion == FileVersion(1))
        let copy = phone.newFile
        let downloaded = try await phone.download(
            uuid, version: FileVersion(1), masterVersion: 4, metadata: AppMetaDataVersion(1), to: copy)
        #expect(downloaded.value?.appMetaData == "second")
        #expect(
            try await failure { try await phone.download(uuid, version: FileVersion(1), masterVersion: 4, to: copy) }
                != nil, "a file with metadata cannot be downloaded without their version")
    }

    @Test(
        "Deletions take effect when committed, and can be repeated; only an undeletion restores a file",
        arguments: isOlder)
    func deletions(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let uuid = FileUUID(UUID().uuidString)!
        for version in 0...1 {
            _ = try await upload(
                phone, Data("\(version)".utf8), as: uuid, version: Int32(version), masterVersion: Int64(version))
            _ = try await phone.commit(Int64(version))
        }
        try await delete(phone, uuid, version: 1, masterVersion: 2)
        #expect(try await row(phone, uuid)?.deleted == false)
        try await delete(phone, uuid, version: 1, masterVersion: 2)
        #expect(try await phone.commit(2) == .success(1))
        #expect(try await row(phone, uuid)?.deleted == true)
        #expect(try await phone.files()?.masterVersion == MasterVersion(3))

        #expect(
            try await failure { try await upload(phone, Data("2".utf8), as: uuid, version: 2, masterVersion: 3) }
                != nil)
        _ = try await upload(phone, Data("2".utf8), as: uuid, version: 2, masterVersion: 3, undeletes: true)
        #expect(try await phone.commit(3) == .success(1))
        let listed = try await row(phone, uuid)
        #expect(listed?.deleted == false && listed?.fileVersion == FileVersion(2))
    }

    @Test("One commit can contain a new file, a next version, an undeletion and a deletion", arguments: isOlder)
    func mixedCommit(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let (old, lost, doomed, new) = (
            FileUUID(UUID().uuidString)!, FileUUID(UUID().uuidString)!, FileUUID(UUID().uuidString)!,
            FileUUID(UUID().uuidString)!
        )
        for uuid in [old, lost, doomed] { _ = try await upload(phone, Data("0".utf8), as: uuid, masterVersion: 0) }
        #expect(try await phone.commit(0) == .success(3))
        try await delete(phone, lost, version: 0, masterVersion: 1)
        #expect(try await phone.commit(1) == .success(1))

        _ = try await upload(phone, Data("new".utf8), as: new, masterVersion: 2)
        _ = try await upload(phone, Data("1".utf8), as: old, version: 1, masterVersion: 2)
        _ = try await upload(phone, Data("1".utf8), as: lost, version: 1, masterVersion: 2, undeletes: true)
        try await delete(phone, doomed, version: 0, masterVersion: 2)
        #expect(try await phone.commit(2) == .success(4))

        #expect(try await row(phone, new)?.fileVersion == .first)
        #expect(try await row(phone, old)?.fileVersion == FileVersion(1))
        let back = try await row(phone, lost)
        #expect(back?.deleted == false && back?.fileVersion == FileVersion(1))
        #expect(try await row(phone, doomed)?.deleted == true)
        #expect(try await row(phone, old)?.deleted == false)
    }

    @Test("If two devices commit simultaneously, one succeeds and the other is stale", arguments: isOlder)
    func race(isOlder: Bool) async throws {
        let phone = try await phone(isOlder)
        let tablet = try Phone(phone.user.onAnotherDevice(), isOlderServer: isOlder)
        let (first, second) = (FileUUID(UUID().uuidString)!, FileUUID(UUID().uuidString)!)
        _ = try await upload(phone, Data("1".utf8), as: first, masterVersion: 0)
        _ = try await upload(tablet, Data("2".utf8), as: second, masterVersion: 0)

        async let left = phone.commit(0)
        async let right = tablet.commit(0)
        let outcomes = try await [left, right]

        #expect(outcomes.filter { $0 == .success(1) }.count == 1)
        #expect(outcomes.filter { $0 == .stale(current: MasterVersion(1)) }.count == 1)
        let loser = outcomes[0] == .success(1) ? tablet : phone
        // The loser's file stays staged, and its next commit includes it.
        #expect(try await loser.connection.uploads(in: loser.group).count == 1)
        #expect(try await loser.commit(1) == .success(1))
        #expect(try await phone.files()?.fileIndex.count == 2)
    }
}
