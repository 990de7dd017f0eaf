import Foundation
import SyncProtocol
import SyncServerConnection
import TestSupport
import Testing

@Suite("The connection against the server, on each storage")
struct StorageTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private static let storages = [SandboxProvider.google, .dropbox, .microsoft]

    @Test("A file's life: created, listed, downloaded, updated, with metadata, deleted", arguments: storages)
    func life(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider)
        let uuid = FileUUID(UUID().uuidString)!
        let first = Data("Hello World ä & + %".utf8)
        let text = AppMetaData(version: .first, contents: #"{"title":"a & b = ä\n"}"#)

        // Created.
        guard case .success(let staged) = try await phone.upload(first, as: uuid, masterVersion: 0, metadata: text)
        else {
            Issue.record("expected a staged upload")
            return
        }
        #expect(staged.creationDate == staged.updateDate)
        #expect(staged.committedMasterVersion == nil)
        #expect(try await phone.connection.uploads(in: phone.group).map(\.fileUUID) == [uuid])
        #expect(try await phone.files()?.fileIndex.isEmpty == true)
        #expect(try await phone.commit(0) == .success(1))

        // Listed.
        let listed = try #require(try await phone.files())
        let row = try #require(listed.fileIndex.first)
        #expect(listed.masterVersion == MasterVersion(1))
        #expect(row.fileUUID == uuid)
        #expect(row.deviceUUID == DeviceUUID(phone.user.device))
        #expect(row.cloudStorageType == phone.storage)
        #expect(row.appMetaDataVersion == .first)
        #expect(row.creationDate == staged.creationDate)

        // Downloaded.
        let copy = phone.newFile
        let downloaded = try await phone.download(uuid, masterVersion: 1, metadata: .first, to: copy)
        #expect(downloaded.value?.appMetaData == text.contents)
        #expect(downloaded.value?.cloudStorageType == phone.storage)
        #expect(downloaded.value?.contentsChanged == false)
        #expect(downloaded.value?.length == Int64(first.count))
        #expect(try Data(contentsOf: copy) == first)

        // Updated, with empty contents.
        let next = FileVersion(1)
        _ = try await phone.upload(Data(), as: uuid, version: next, masterVersion: 1)
        #expect(try await phone.commit(1) == .success(1))
        let empty = try await phone.download(uuid, version: next, masterVersion: 2, metadata: .first, to: copy)
        #expect(empty.value?.length == 0)
        #expect(try Data(contentsOf: copy).isEmpty)

        // Metadata longer than a query may be. As a header they have 90,000 bytes: libcurl, which the library uses on
        // Linux, accepts no header line above 100 KiB, and with HTTP/2 none above 64 KiB.
        let long = AppMetaData(version: AppMetaDataVersion(1), contents: String(repeating: "\"", count: 45_000))
        #expect(
            try await phone.connection.uploadAppMetaData(
                UploadAppMetaDataRequest(
                    fileUUID: uuid, appMetaData: long, masterVersion: MasterVersion(2), sharingGroupUUID: phone.group))
                == .success(StagedChange()))
        #expect(try await phone.commit(2) == .success(1))
        #expect(
            try await phone.connection.downloadAppMetaData(
                DownloadAppMetaDataRequest(
                    fileUUID: uuid, appMetaDataVersion: AppMetaDataVersion(1), masterVersion: MasterVersion(3),
                    sharingGroupUUID: phone.group)) == .success(long.contents))
        let withText = try await phone.download(
            uuid, version: next, masterVersion: 3, metadata: AppMetaDataVersion(1), to: copy)
        #expect(withText.value?.appMetaData == long.contents)

        // Deleted.
        let deletion = UploadDeletionRequest(
            fileUUID: uuid, fileVersion: next, masterVersion: MasterVersion(3), sharingGroupUUID: phone.group)
        #expect(try await phone.connection.uploadDeletion(deletion) == .success(StagedChange()))
        #expect(try await phone.commit(3) == .success(1))
        #expect(try await phone.files()?.fileIndex.first?.deleted == true)
    }

    @Test("A file of several blocks and buffers, with its progress", arguments: storages)
    func large(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider)
        let uuid = FileUUID(UUID().uuidString)!
        let bytes = Data(RandomData.bytes(9_500_000))
        let (file, copy) = (try phone.file(bytes), phone.newFile)
        let progress = ProgressRecorder()
        let request = UploadFileRequest(
            fileUUID: uuid, sharingGroupUUID: phone.group, mimeType: MIMEType("image/jpeg")!, fileVersion: .first,
            masterVersion: MasterVersion(0),
            checkSum: try await CheckSum.ofFile(at: file, flavour: phone.storage.checkSumFlavour))

        let staged = try await phone.connection.uploadFile(request, from: file) { progress.add($0) }
        #expect(staged.value != nil)
        #expect(progress.last?.sentBytes == 9_500_000)
        #expect(progress.last?.totalBytes == 9_500_000)
        #expect(progress.count > 1)

        _ = try await phone.commit(0)
        let download = DownloadFileRequest(
            fileUUID: uuid, fileVersion: .first, masterVersion: MasterVersion(1), sharingGroupUUID: phone.group)
        let received = ProgressRecorder()
        #expect(
            try await phone.connection.downloadFile(download, to: copy) { received.add($0) }.value?.length == 9_500_000)
        #expect(try Data(contentsOf: copy) == bytes)
        #expect(received.last?.receivedBytes == 9_500_000)
    }

    @Test("A file that its owner removed is gone, with its metadata", arguments: storages)
    func gone(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider)
        let uuid = try await phone.publish(
            Data("soon gone".utf8), masterVersion: 0, metadata: AppMetaData(version: .first, contents: "about it"))
        for stored in try server.sandbox.files(of: phone.user.account) where stored.name.hasPrefix(uuid.rawValue) {
            try server.sandbox.delete(stored.name, in: phone.user.account)
        }
        let copy = phone.newFile

        let outcome = try await phone.download(uuid, masterVersion: 1, metadata: .first, to: copy)

        #expect(
            outcome
                == .gone(
                    Gone(.fileRemovedOrRenamed, appMetaData: "about it", cloudStorageType: phone.storage)))
        #expect(!FileManager.default.fileExists(atPath: copy.path))
    }

    @Test("Bytes whose checksum differs from the announced one are rejected", arguments: storages)
    func wrongCheckSum(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider)
        let request = UploadFileRequest(
            fileUUID: FileUUID(UUID().uuidString)!, sharingGroupUUID: phone.group, mimeType: MIMEType("text/plain")!,
            fileVersion: .first, masterVersion: MasterVersion(0),
            checkSum: CheckSum.of(Data("other".utf8), flavour: phone.storage.checkSumFlavour))
        let file = try phone.file(Data("these".utf8))

        let error = try await failure { try await phone.connection.uploadFile(request, from: file) }

        #expect(error?.status == 422)
        #expect(error?.serverCode?.rawValue == "checksum_mismatch")
        #expect(try await phone.connection.uploads(in: phone.group).isEmpty)
    }
}
