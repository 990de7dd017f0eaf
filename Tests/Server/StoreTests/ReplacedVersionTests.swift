import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Replaced versions whose objects await deletion")
struct ReplacedVersionTests {
    private let fixture: StoreFixture
    private let owner: Member
    private let storage: OwningUser
    private let file = someFile()
    private var store: MetadataStore { fixture.store }

    /// A file whose version 0, in object "old", was replaced by version 1.
    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = try owner.owningUser()!
        try owner.stage(.upload(of: file, version: 0, object: "old", owner: storage))
        try #require(try owner.commit() == 1)
        try owner.stage(.upload(of: file, version: 1, object: "new", owner: storage))
        try #require(try owner.commit(keepingReplacedFor: 60) == 1)
    }

    private func replaced(_ version: Int32, in group: SharingGroupID? = nil) throws -> FileRecord? {
        let current = try #require(try owner.file(file))
        return try store.withSession {
            try $0.replacedVersion(FileVersion(version), of: current, in: group ?? owner.area.groupID)
        }
    }

    private func leased(at time: WireDate) throws -> [OutboxItem] {
        try store.transaction { try $0.leaseDue(by: "jobs", limit: 8, until: noon(plus: 600), at: time) }
    }

    @Test("An earlier version is found with its contents until its deletion is done")
    func found() throws {
        let found = try #require(try replaced(0))

        #expect(found.fileVersion == .first && found.objectID == "old")
        #expect(found.owningUser == storage && found.fileUUID == file)
        #expect(found.checkSum == CheckSum("b10a8db164e0754105b7a99be72e3fe5") && found.sizeBytes == 11)
        #expect(try replaced(1) == nil && replaced(2) == nil, "these await no deletion")
        #expect(try replaced(0, in: SharingGroupID(owner.area.groupID.rawValue + 1)) == nil)
        #expect(try leased(at: noon(plus: 59)).isEmpty)
        let deletion = try #require(try leased(at: noon(plus: 60)).first)
        #expect(try replaced(0) != nil)
        #expect(try store.transaction { try $0.complete(deletion, by: "jobs", at: noon(plus: 60)) } == .asAsked)
        #expect(try replaced(0) == nil)
    }

    @Test("An upload of the same version does not get the name of an object that awaits deletion; others do")
    func names() throws {
        func isTaken(_ version: Int) throws -> Bool {
            try store.withSession { session in
                try session.isNamedElsewhere("\(file).\(someFile()).\(version).txt", of: storage, than: OutboxID(-1))
            }
        }

        #expect(try isTaken(0))
        #expect(try !isTaken(1) && !isTaken(2))
    }
}
