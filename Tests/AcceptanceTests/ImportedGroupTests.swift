import Foundation
import TestSupport
import Testing

/// Users whose app used the older server yesterday and uses this one today, without a change.
@Suite("After an import from an older server")
struct ImportedGroupTests {
    private let server: TestServer
    private let alice: TestUser
    private let older: OlderServer
    private let file: TestFile
    /// The device that uploaded to the older server.
    private let oldDevice = UUID().uuidString

    /// Alice with one committed file at version 3 and one staged file, as the older server left them.
    init() throws {
        server = try TestServer.shared()
        older = try OlderServer(server)
        var alice = try server.newcomer()
        alice.userID = Int64.random(in: 1_000_000_000...1_000_000_000_000)
        self.alice = alice
        var file = TestFile("as the older server stored it")
        file.version = 3
        self.file = file
        try older.run(
            """
            INSERT INTO User VALUES (\(alice.userID), 'Alice', 'Google', '\(alice.account.id)',
                '{"accessToken":"\(alice.account.accessToken)"}', '\(alice.folder)', NULL);
            INSERT INTO SharingGroup VALUES ('\(alice.group)', 'Old times', 0);
            INSERT INTO MasterVersion VALUES ('\(alice.group)', 41);
            INSERT INTO SharingGroupUser (sharingGroupUUID, userId, permission)
                VALUES ('\(alice.group)', \(alice.userID), 'admin');
            INSERT INTO FileIndex (fileUUID, userId, deviceUUID, sharingGroupUUID, creationDate, updateDate, mimeType,
                                   appMetaData, appMetaDataVersion, deleted, fileVersion, lastUploadedCheckSum)
                VALUES ('\(file.uuid)', \(alice.userID), '\(oldDevice)', '\(alice.group)', '2019-01-02 03:04:05',
                        '2019-02-03 04:05:06', 'text/plain', 'about it', 2, 0, 3, '\(file.checkSum)');
            """)
        try server.sandbox.store(
            file.contents, as: file.cloudName(device: oldDevice), in: alice.account, folder: alice.folder)
    }

    private func names() throws -> Set<String> {
        Set(try server.sandbox.files(of: alice.account).map(\.name))
    }

    @Test("Index lists the older server's files, under the user id stored on the phone")
    func index() throws {
        defer { older.drop() }
        try older.takeOver()

        #expect(try alice.checkCredentials().json?.userId?.integer == alice.userID)
        let index = try alice.index()
        #expect(index.masterVersion == 41)
        #expect(index.group(alice.group)?.sharingGroupName?.text == "Old times")
        let entry = try #require(index.file(file))
        #expect(entry.fileVersion?.integer == 3)
        #expect(entry.appMetaDataVersion?.integer == 2)
        #expect(entry.deviceUUID?.text == oldDevice)
        #expect(entry.creationDate?.text == "2019-01-02 03:04:05")
        #expect(entry.cloudStorageType?.text == "Google")
        #expect(entry.owningUserId?.integer == alice.userID)
    }

    @Test("The first download finds a file by name, later ones by object")
    func download() throws {
        defer { older.drop() }
        try older.takeOver()

        expectDownload(
            try alice.download(file, masterVersion: 41, metadataVersion: 2), of: file, metadata: "about it")
        let since = try server.sandbox.lastRequest()
        expectDownload(
            try alice.download(file, masterVersion: 41, metadataVersion: 2), of: file, metadata: "about it")

        let searches = try server.sandbox.requests(since: since).filter {
            $0.query?.text?.contains(file.uuid) == true
        }
        #expect(searches.isEmpty)
    }

    @Test("If a file's object and folder are missing, the download reports gone, with its metadata [F23]")
    func gone() throws {
        defer { older.drop() }
        try server.sandbox.delete(file.cloudName(device: oldDevice), in: alice.account)
        try older.takeOver()

        let reply = try alice.download(file, masterVersion: 41, metadataVersion: 2)

        #expect(reply.status == 200, "\(reply)")
        #expect(reply.messageParameters?.gone?.text == "fileRemovedOrRenamed")
        #expect(reply.messageParameters?.appMetaData?.text == "about it")
    }

    @Test("The next version replaces the older server's object, even if it was never downloaded")
    func nextVersion() async throws {
        defer { older.drop() }
        try older.takeOver()
        let next = file.next("from the new server")

        try alice.publish(next, masterVersion: 41)

        expectDownload(try alice.download(next, masterVersion: 42, metadataVersion: 2), of: next, metadata: "about it")
        try await eventually("the replaced object is deleted") {
            try !names().contains(file.cloudName(device: oldDevice))
        }
        #expect(try names().contains(next.cloudName(device: alice.device)))
    }

    @Test("Deleting a file deletes the older server's object")
    func deletion() async throws {
        defer { older.drop() }
        try older.takeOver()

        let reply = try alice.call(
            "DELETE", "UploadDeletion",
            [
                "fileUUID": file.uuid, "fileVersion": "3", "masterVersion": "41", "sharingGroupUUID": alice.group,
            ])
        #expect(reply.status == 200, "\(reply)")
        #expect(try alice.commitStaged(masterVersion: 41) == 1)

        try await eventually("the file's object is deleted") {
            try !names().contains(file.cloudName(device: oldDevice))
        }
    }

    @Test("Changes staged on the older server can be committed here")
    func staged() throws {
        defer { older.drop() }
        let staged = TestFile("uploaded yesterday")
        try older.run(
            """
            INSERT INTO Upload (fileUUID, userId, deviceUUID, sharingGroupUUID, creationDate, updateDate, mimeType,
                                fileVersion, state, lastUploadedCheckSum)
                VALUES ('\(staged.uuid)', \(alice.userID), '\(alice.device)', '\(alice.group)', '2020-01-01 00:00:00',
                        '2020-01-01 00:00:00', 'text/plain', 0, 'uploadedFile', '\(staged.checkSum)')
            """)
        try server.sandbox.store(
            staged.contents, as: staged.cloudName(device: alice.device), in: alice.account, folder: alice.folder)
        try older.takeOver()

        #expect(try alice.stagedUploads().compactMap { $0.fileUUID?.text } == [staged.uuid])
        // A phone that got no reply yesterday repeats the upload; nothing is stored twice.
        let dates = try alice.stage(staged, masterVersion: 41)
        #expect(dates.creationDate?.text == "2020-01-01 00:00:00")
        #expect(try alice.commitStaged(masterVersion: 41) == 1)

        expectDownload(try alice.download(staged, masterVersion: 42), of: staged)
        #expect(try names().filter { $0.hasPrefix(staged.uuid) }.count == 1)
    }

    @Test("A second import changes nothing; a group with later commits is left unchanged and reported")
    func again() throws {
        defer { older.drop() }
        try older.takeOver()
        #expect(try older.takeOver().groups?.unchanged?.integer == 1)
        #expect(try alice.index().masterVersion == 41)

        try alice.publish(TestFile("new"), masterVersion: 41)
        try older.run("UPDATE MasterVersion SET masterVersion = 50")
        let report = try older.takeOver()

        #expect(report.groups?.leftAlone?.integer == 1)
        #expect(
            report.notes?.array?.contains {
                $0.reason?.text == "changedHereSince" && $0.row?.text == alice.group
            } == true)
        #expect(try alice.index().masterVersion == 42)
    }
}
