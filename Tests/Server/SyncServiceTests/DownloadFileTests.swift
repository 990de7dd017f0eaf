import MariaDB
import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("DownloadFile, from the cloud to the phone")
struct DownloadFileTests {
    private let server: TestServer
    private let alice: Phone
    private let file = someFile()
    private let bytes = someBytes(300_000)
    private var objectID: String { server.cloud.objects.keys.first! }

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        try #require(server.upload(bytes, of: file, by: alice).status == 200)
        try #require(server.commit(from: 0, by: alice).status == 200)
    }

    private func download(
        _ file: FileUUID? = nil, version: Int32 = 0, master: Int64 = 1, on connection: FakeConnection = FakeConnection()
    ) -> FakeConnection {
        server.send(
            DownloadFileRequest(
                fileUUID: file ?? self.file, fileVersion: FileVersion(version), masterVersion: MasterVersion(master),
                sharingGroupUUID: alice.group), as: alice, on: connection)
    }

    private func addFile(_ bytes: [UInt8]) throws -> FileUUID {
        let file = someFile()
        try #require(server.upload(bytes, of: file, master: 1, by: alice).status == 200)
        try #require(server.commit(from: 1, by: alice).status == 200)
        return file
    }

    @Test("A file is delivered completely, with its checksum announced")
    func whole() {
        let reply = download()

        #expect(reply.status == 200 && reply.end == .finished)
        #expect(reply.body == bytes)
        #expect(reply.messageParams["checkSum"] as? String == md5(bytes))
        #expect(reply.messageParams["contentsChanged"] as? Bool == false)
        #expect(reply.messageParams["cloudStorageType"] as? String == "Google")
        #expect(server.log.request?["bytes_sent"] == "300000")
    }

    @Test(
        "Long metadata are omitted from the header, which proxies limit, only if the client permits it",
        arguments: [2_046, 2_047, 20_000], [true, false])
    func longMetaData(length: Int, mayOmit: Bool) throws {
        // In JSON the quotation marks also count.
        let text = String(repeating: "x", count: length)
        let described = server.send(
            UploadAppMetaDataRequest(
                fileUUID: file, appMetaData: AppMetaData(version: .first, contents: text),
                masterVersion: MasterVersion(1),
                sharingGroupUUID: alice.group), as: alice)
        try #require(described.status == 200, "\(described.json)")
        try #require(server.commit(from: 1, by: alice).status == 200)
        func downloaded() -> FakeConnection {
            server.send(
                DownloadFileRequest(
                    fileUUID: file, fileVersion: .first, masterVersion: MasterVersion(2), sharingGroupUUID: alice.group,
                    appMetaDataVersion: .first, mayOmitAppMetaData: mayOmit), as: alice)
        }
        let isOmitted = mayOmit && length > 2_046

        let reply = downloaded()

        #expect(reply.body == bytes)
        #expect(reply.messageParams["appMetaData"] as? String == (isOmitted ? nil : text))
        #expect(reply.messageParams["appMetaDataOmitted"] as? Bool == (isOmitted ? true : nil))
        #expect(reply.messageParams["checkSum"] as? String == md5(bytes))
        server.cloud.replace(objectID, by: nil)
        let gone = downloaded()
        #expect(gone.messageParams["gone"] as? String == "fileRemovedOrRenamed")
        #expect(gone.messageParams["appMetaData"] as? String == (isOmitted ? nil : text))
        #expect(gone.messageParams["appMetaDataOmitted"] as? Bool == (isOmitted ? true : nil))
    }

    @Test(
        "Files of any size near the retained amount arrive complete, even if their SHA-256 is known",
        arguments: [0, 1, 65_535, 65_536, 65_537, 131_073], [false, true])
    func sizes(size: Int, isSHA256Known: Bool) throws {
        let file = try addFile(someBytes(size))
        server.cloud.behaviour.reportsSHA256 = isSHA256Known

        let reply = download(file, master: 2)

        #expect(reply.body == someBytes(size) && reply.end == .finished)
        #expect(reply.header("content-length") == "\(size)")
    }

    @Test(
        "A file whose provider counts its bytes differently arrives complete, with the length that is sent",
        arguments: [0, 1, 65_536, 131_073, 300_000], [-1, 1, 70_000] as [Int64])
    func countedDifferently(size: Int, extraBytes: Int64) throws {
        let file = try addFile(someBytes(size))
        var behaviour = FakeCloud.Behaviour()
        behaviour.announcesLength = true
        behaviour.extraBytes = extraBytes
        server.cloud.behaviour = behaviour

        let reply = download(file, master: 2)

        #expect(reply.body == someBytes(size) && reply.end == .finished)
        #expect(reply.header("content-length") == "\(size)")
    }

    @Test("A file that its owner changed in the cloud is delivered in its current state, and marked as changed")
    func changedByOwner() {
        let changed = someBytes(1000)
        server.cloud.replace(objectID, by: changed)

        let reply = download()

        #expect(reply.body == changed)
        #expect(reply.messageParams["checkSum"] as? String == md5(changed))
        #expect(reply.messageParams["contentsChanged"] as? Bool == true)
    }

    @Test(
        "Bytes that differ from the announced ones are cut off before their end, regardless of their number",
        arguments: [300_000, 299_999, 250_000, 10, 0, 300_001, 360_000, 900_000],
        [(false, false), (true, false), (true, true)])
    func changedMeanwhile(size: Int, reported: (length: Bool, sha256: Bool)) {
        let (cloud, objectID) = (server.cloud, objectID)
        let others = someBytes(size).map { ~$0 }
        let described = cloud.describeCalls
        var behaviour = FakeCloud.Behaviour()
        behaviour.beforeDownload = {
            // The description may be requested concurrently.
            cloud.waitForDescription(after: described)
            cloud.replace(objectID, by: others)
        }
        behaviour.announcesLength = reported.length
        behaviour.reportsSHA256 = reported.sha256
        cloud.behaviour = behaviour

        let reply = download()

        // Nothing was promised yet, or the promise is visibly broken.
        if reply.status == 200 {
            #expect(reply.end == .abandoned)
            let promised = reported.length ? size : 300_000
            #expect(reply.body.count <= promised - 65_536, "the end is held back")
            #expect(server.log.request?["code"] == "reply_interrupted")
        } else {
            #expect(reply.code == "cloud_unavailable" && reply.end == .finished)
        }
    }

    @Test("A failed download is aborted", arguments: [0, 5_000, 250_000, 299_999])
    func breaksOff(afterBytes: Int) {
        var behaviour = FakeCloud.Behaviour()
        behaviour.downloadBreaksAfterBytes = afterBytes
        server.cloud.behaviour = behaviour

        let reply = download()

        if afterBytes == 0 {
            #expect(reply.code == "cloud_unavailable" && reply.end == .finished)
        } else {
            #expect(reply.status == 200 && reply.end == .abandoned)
            #expect(reply.starts == 1)
        }
    }

    @Test("A phone that disconnects ends the download")
    func hangsUp() {
        let connection = FakeConnection()
        connection.takesReplyBytes = 100_000

        let reply = download(on: connection)

        #expect(reply.end == .abandoned)
        #expect(server.log.request?["code"] == "client_gone")
    }

    @Test("A missing or inaccessible object is reported as gone")
    func gone() {
        var behaviour = FakeCloud.Behaviour()
        behaviour.describeFailure = .authorizationRevoked
        server.cloud.behaviour = behaviour
        #expect(download().messageParams["gone"] as? String == "authTokenExpiredOrRevoked")
        server.cloud.behaviour = FakeCloud.Behaviour()
        server.cloud.replace(objectID, by: nil)

        let reply = download()

        #expect(reply.status == 200 && reply.body.isEmpty && reply.end == .finished)
        #expect(reply.messageParams["gone"] as? String == "fileRemovedOrRenamed")
        #expect(reply.messageParams["checkSum"] == nil)
    }

    @Test("An object that its owner moved without renaming it is found and adopted")
    func adopted() throws {
        let name = "\(file).\(alice.device).0.txt"
        server.cloud.replace(objectID, by: nil)
        server.cloud.put("elsewhere", name, bytes)

        #expect(download().body == bytes)
        let calls = server.cloud.describeCalls
        #expect(download().body == bytes)
        #expect(server.cloud.describeCalls == calls + 1, "the id is remembered")
    }

    @Test("A recently uploaded version is looked up twice, even if its file is old")
    func secondLook() throws {
        var connection = try Connection(server.settings!)
        try connection.execute("UPDATE files SET created_at = '2001-01-01 00:00:00'")
        server.cloud.replace(objectID, by: nil)
        let calls = server.cloud.describeCalls

        #expect(download().messageParams["gone"] as? String == "fileRemovedOrRenamed")

        #expect(server.cloud.describeCalls == calls + 2)
    }

    @Test("Requests that do not match the committed file are rejected, and a stale one gets the master version")
    func refused() {
        #expect(download(someFile()).code == "file_unknown")
        #expect(download(version: 1).code == "file_version_mismatch")
        let stale = download(version: 9, master: 0)
        #expect(stale.messageParams["masterVersionUpdate"] as? Int == 1)
        #expect(stale.body.isEmpty)
    }
}
