import Foundation
import SyncProtocol
import Testing

@testable import SyncService

@Suite("Commits in the metrics")
struct CommitStatisticsTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    @Test("A commit counts once, however often it is requested, and a stale one does not count")
    func once() throws {
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 200)
        #expect(server.commits.endpoints == [])
        let first = server.commit(from: 0, by: alice)
        #expect(server.commit(from: 0, by: alice).body == first.body)
        #expect(server.commits.endpoints == [.doneUploads])

        #expect(server.commit(from: 7, by: alice).status == 200)
        #expect(server.commits.endpoints == [.doneUploads])
        #expect(server.commit(from: 1, by: alice).status == 200)
        #expect(server.commits.endpoints == [.doneUploads, .doneUploads])
    }

    @Test("A batch counts once, under the endpoint of the member that completed it")
    func batches() throws {
        let file = someFile()
        let uploads = UploadBatch(batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 2)
        for file in [someFile(), file, file] {
            #expect(server.upload(someBytes(5), of: file, batch: uploads, by: alice).status == 200)
        }
        #expect(server.commits.endpoints == [.uploadFile])

        let description = UploadAppMetaDataRequest(
            fileUUID: file, appMetaData: AppMetaData(version: .first, contents: "new"), masterVersion: MasterVersion(1),
            sharingGroupUUID: alice.group, batch: UploadBatch(batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 1))
        for _ in 0..<2 { #expect(server.send(description, as: alice).status == 200) }
        let deletion = UploadDeletionRequest(
            fileUUID: file, fileVersion: .first, masterVersion: MasterVersion(2), sharingGroupUUID: alice.group,
            batch: UploadBatch(batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 1))
        for _ in 0..<2 { #expect(server.send(deletion, as: alice).status == 200) }

        #expect(server.commits.endpoints == [.uploadFile, .uploadAppMetaData, .uploadDeletion])
    }
}
