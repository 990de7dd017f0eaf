import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Objects that are about to be deleted")
struct DoomedObjectTests {
    private let fixture: StoreFixture
    private let owner: Member
    private let storage: OwningUser
    private var store: MetadataStore { fixture.store }

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = try owner.owningUser()!
    }

    @discardableResult
    private func addDeletion(of object: String, in owner: OwningUser? = nil) throws -> OutboxID {
        try store.transaction {
            try $0.addDeletion(of: object, in: owner ?? storage, availableAt: noon, at: noon)
        }
    }

    private func addUpload(_ object: String? = nil, in owner: OwningUser? = nil) throws -> OutboxID {
        try store.transaction { session in
            try session.addIntent(
                toStore: object, named: ["name"], in: owner ?? storage, at: AccountEpoch(0), leaseOwner: "upload",
                until: noon(plus: 90),
                at: noon)
        }
    }

    private func hasOlderUpload(than item: OutboxID, at time: WireDate = noon) throws -> Bool {
        try store.withSession { try $0.hasOlderUpload(than: item, of: storage, patience: 600, at: time) }
    }

    @Test("A deletion precedes uploads that begin later, and waits for earlier ones with a valid lease")
    func olderUpload() throws {
        let before = try addDeletion(of: "a")
        let upload = try addUpload()
        let after = try addDeletion(of: "b")

        #expect(try !hasOlderUpload(than: before))
        #expect(try hasOlderUpload(than: after))
        #expect(try hasOlderUpload(than: after, at: noon(plus: 89)))
        #expect(try !hasOlderUpload(than: after, at: noon(plus: 90)), "its lease has expired")
        try store.transaction { try $0.releaseLease(of: upload, by: "upload", at: noon) }
        #expect(try !hasOlderUpload(than: after), "the upload has given up")
    }

    private let upload = UploadUUID("0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e5f")!

    private func beginUploadInPieces() throws {
        try store.transaction { session in
            _ = try session.beginUpload(
                upload, asking: "{}", hash: [UInt8](repeating: 1, count: 32), lengthBytes: 9, by: owner.user,
                on: DeviceUUID("1b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e5f")!, until: noon(plus: 9_000), at: noon)
            let intent = try session.addIntent(
                toStore: nil, named: ["name"], in: storage, at: AccountEpoch(0), leaseOwner: upload.rawValue,
                until: noon(plus: 9_000), at: noon)
            _ = try session.takeOver(upload, as: "first")
            _ = try session.record(
                UploadDestination(
                    owner: storage, objectName: "name", spareName: nil, objectID: nil, folderID: nil, intent: intent),
                of: upload, by: "first")
            try session.endWriting(to: upload, by: "first")
        }
    }

    @Test("An upload in pieces delays a deletion only while a request sends them, not until its object is staged")
    func uploadInPieces() throws {
        try beginUploadInPieces()
        let deletion = try addDeletion(of: "a")

        #expect(try !hasOlderUpload(than: deletion))
        _ = try store.transaction { try $0.takeOver(upload, as: "writer") }
        #expect(try hasOlderUpload(than: deletion))
        _ = try store.transaction { try $0.record(content: "{}", of: upload, by: "writer") }
        #expect(try hasOlderUpload(than: deletion))
        try store.transaction { try $0.endWriting(to: upload, by: "writer") }
        #expect(try !hasOlderUpload(than: deletion), "its client may never stage it")
    }

    @Test("A client's upload address does not delay a deletion")
    func addressOfUpload() throws {
        try beginUploadInPieces()
        try store.transaction { session in
            _ = try session.takeOver(upload, as: "writer")
            _ = try session.record(directSession: [1], until: noon(plus: 3_600), of: upload, by: "writer")
            try session.endWriting(to: upload, by: "writer")
        }
        #expect(try !hasOlderUpload(than: addDeletion(of: "a")))
    }

    @Test("A request that sends bytes for longer than a deletion waits loses the upload")
    func patience() throws {
        try beginUploadInPieces()
        let deletion = try addDeletion(of: "a")
        _ = try store.transaction { try $0.takeOver(upload, as: "writer") }

        #expect(try hasOlderUpload(than: deletion, at: noon(plus: 599)))
        #expect(try store.withSession { try $0.isWriter("writer", of: upload) })
        #expect(try !hasOlderUpload(than: deletion, at: noon(plus: 600)))
        #expect(try !store.transaction { try $0.record(content: "{}", of: upload, by: "writer") })
    }

    @Test("A later upload in pieces keeps its request, however long a deletion has been waiting")
    func laterUpload() throws {
        let deletion = try addDeletion(of: "a")
        try beginUploadInPieces()
        _ = try store.transaction { try $0.takeOver(upload, as: "writer") }

        #expect(try !hasOlderUpload(than: deletion, at: noon(plus: 3_600)))
        #expect(try store.withSession { try $0.isWriter("writer", of: upload) })
    }

    @Test("Uploads whose object has an id from the start, and uploads to other owners, delay no deletion")
    func otherUploads() throws {
        _ = try addUpload("chosen")
        _ = try addUpload(in: OwningUser(userID: fixture.addUser(), storageType: .google))

        #expect(try !hasOlderUpload(than: addDeletion(of: "a")))
    }

    @Test("An upload that stages an object due for deletion detects it in the same transaction")
    func staging() throws {
        let file = someFile()
        try addDeletion(of: "doomed")

        let isDoomed = try store.transaction { session in
            _ = try session.lockMasterVersionShared(of: owner.area.groupID)
            _ = try session.claimStaging(of: file, in: owner.area, at: noon)
            try session.stage(.upload(of: file, version: 0, object: "late", owner: storage), in: owner.area, at: noon)
            // Another process decides to delete while this transaction is open.
            try addDeletion(of: "late")
            return try ["doomed", "late", "other"].map { try session.isDoomed($0, of: storage) }
        }

        #expect(isDoomed == [true, true, false])
    }

    /// A file from an older server, known only by its name.
    private func fileWithoutObject() throws -> FileRecord {
        let file = someFile()
        var change = StagedChange.upload(of: file, version: 0, object: "", owner: storage)
        change.content?.objectID = nil
        try owner.stage(change)
        try owner.commit()
        return try #require(try owner.file(file))
    }

    private func adopt(_ object: String, as file: FileRecord) throws -> Bool {
        try store.transaction { try $0.adopt(objectID: object, revision: nil, as: file, in: owner.area.groupID) }
    }

    /// The decision of the jobs role before a deletion, in one transaction.
    private func decideToDelete(_ object: String) throws -> Bool {
        try addDeletion(of: object)
        return try store.transaction { try !$0.isReferenced(object, of: storage) }
    }

    @Test("After the decision to delete an object it is not adopted; after an adoption it is not deleted")
    func eitherOr() throws {
        let (doomed, kept) = try (fileWithoutObject(), fileWithoutObject())

        #expect(try decideToDelete("doomed"))
        #expect(try !adopt("doomed", as: doomed))
        #expect(try adopt("kept", as: kept))
        #expect(try !decideToDelete("kept"))
    }

    @Test("Concurrent adoption and deletion never both succeed")
    func race() throws {
        for round in 0..<25 {
            let file = try fileWithoutObject()
            let object = "object \(round)"

            let outcomes = concurrently(2) { number in
                try number == 0 ? adopt(object, as: file) : decideToDelete(object)
            }

            #expect(outcomes.failures().map { "\($0)" } == [])
            #expect(outcomes.successes().count { $0 } <= 1, "round \(round)")
            let isAdopted = try owner.file(file.fileUUID)?.objectID == object
            #expect(isAdopted == outcomes.successes()[0], "round \(round)")
        }
    }
}
