import Foundation
import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Committed files")
struct FileTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner: Member

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
    }

    private func index(of member: Member) throws -> [[String: any Sendable]] {
        let membership = try #require(try fixture.membership(of: member.user, in: member.group))
        let bytes = try store.snapshot { session in
            var writer = IndexResponseWriter()
            writer.beginFiles(masterVersion: membership.masterVersion)
            try session.writeFiles(of: membership, to: &writer)
            writer.endFiles()
            writer.beginGroups()
            writer.finish()
            return writer.json.bytes
        }
        let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        return (object?["fileIndex"] as? [[String: any Sendable]]) ?? []
    }

    @Test("A membership read together with a file matches both read separately, in any letter case")
    func membershipWithFile() throws {
        let file = FileUUID("ABCDEF01-2345-4678-9abc-def012345678")!
        try owner.addFile(file)
        let guest = try fixture.addGuest(of: owner)
        let other = try fixture.addOwner()
        func found(_ member: Member, _ file: FileUUID) throws -> (membership: Membership, file: FileRecord?)? {
            try store.withSession { try $0.membership(of: member.user, in: owner.group, with: file) }
        }

        for member in [owner, guest] {
            let both = try #require(try found(member, FileUUID("abcdef01-2345-4678-9abc-def012345678")!))
            #expect(try both.membership == fixture.membership(of: member.user, in: owner.group))
            let record = try store.withSession { try $0.file(file, in: both.membership.groupID) }
            #expect(both.file == record)
            #expect(record != nil)
        }
        #expect(try #require(try found(owner, other.addFile(someFile()))).file == nil)
        #expect(try found(other, file) == nil)
    }

    @Test("A group without files has an empty listing [328]")
    func emptyListing() throws {
        #expect(try index(of: owner).isEmpty)
    }

    @Test("A listing of one file has its storage type and everything else that clients need [328]")
    func listing() throws {
        let file = someFile()
        try owner.stage(
            .upload(of: file, version: 0, object: "o", owner: owner.owningUser()!, metaData: (0, "secret contents")))
        try owner.commit()

        let entry = try #require(try index(of: owner).first)
        #expect(entry["fileUUID"] as? String == file.rawValue)
        #expect(entry["deviceUUID"] as? String == owner.area.deviceUUID.rawValue)
        #expect(entry["fileGroupUUID"] as? String == "Group of files")
        #expect(entry["sharingGroupUUID"] as? String == owner.group.rawValue)
        #expect(entry["mimeType"] as? String == "text/plain")
        #expect(entry["cloudStorageType"] as? String == "Google")
        #expect(entry["appMetaDataVersion"] as? Int == 0)
        #expect(entry["fileVersion"] as? Int == 0)
        #expect(entry["owningUserId"] as? Int64 == owner.user.rawValue)
        #expect(entry["deleted"] as? Bool == false)
        #expect(entry["creationDate"] as? String == noon.description)
    }

    @Test("A listing has all files of its group in the order of their UUIDs, and no others")
    func order() throws {
        let other = try fixture.addOwner()
        try other.addFile()
        let files = try (0..<5).map { _ in try owner.addFile() }
        try owner.stage(.deletion(of: files[2], version: 0))
        try owner.commit()

        let entries = try index(of: owner)
        #expect(entries.compactMap { $0["fileUUID"] as? String } == files.sorted().map(\.rawValue))
        #expect(
            entries.filter { $0["deleted"] as? Bool == true }.map { $0["fileUUID"] as? String } == [files[2].rawValue])
    }

    @Test("A file's UUID keeps its letter case and is found in any letter case")
    func letterCase() throws {
        let file = FileUUID("ABCDEF01-2345-4678-9abc-def012345678")!
        try owner.addFile(file)

        let inOtherCase = FileUUID(file.rawValue.lowercased())!
        #expect(try owner.file(inOtherCase)?.fileUUID.rawValue == file.rawValue)
        #expect(
            try store.withSession { try $0.isLiveElsewhere(inOtherCase, otherThan: fixture.addOwner().area.groupID) })
        #expect(try !store.withSession { try $0.isLiveElsewhere(inOtherCase, otherThan: owner.area.groupID) })
    }

    @Test("A snapshot does not see later commits")
    func snapshot() throws {
        try store.snapshot { session in
            let before = try session.membership(of: owner.user, in: owner.group)
            let file = try owner.addFile()
            #expect(try session.file(file, in: owner.area.groupID) == nil)
            #expect(try session.membership(of: owner.user, in: owner.group) == before)
        }
    }

    @Test("A snapshot rejects changes")
    func snapshotIsReadOnly() throws {
        #expect(throws: StoreError.self) {
            try store.snapshot { try $0.rename(owner.area.groupID, to: "x") }
        }
    }

    // MARK: Adoption

    private func adopt(_ object: String, as file: FileRecord) throws -> Bool {
        try store.transaction { session in
            try session.adopt(objectID: object, revision: "r", as: file, in: owner.area.groupID)
        }
    }

    @Test("A rediscovered object is adopted only while the file still has that version")
    func adoption() throws {
        let file = try owner.addFile(object: "o1")
        let record = try #require(try owner.file(file))

        #expect(try adopt("found", as: record))
        #expect(try owner.file(file)?.objectID == "found")
        try owner.stage(.upload(of: file, version: 1, object: "o2", owner: owner.owningUser()!))
        try owner.commit()
        #expect(try !adopt("found", as: record))
        #expect(try owner.file(file)?.objectID == "o2")
    }

    @Test("An object is not adopted for a deleted file, nor while the outbox is due to delete it")
    func adoptionRefused() throws {
        let file = try owner.addFile(object: "o1")
        let record = try #require(try owner.file(file))
        try store.transaction { session in
            _ = try session.addDeletion(of: "doomed", in: record.owningUser, availableAt: noon, at: noon)
            // Another user's object with the same name is a different object.
            let other = OwningUser(userID: UserID(record.owningUser.userID.rawValue + 1), storageType: .google)
            _ = try session.addDeletion(of: "found", in: other, availableAt: noon, at: noon)
        }

        #expect(try !adopt("doomed", as: record))
        #expect(try owner.file(file)?.objectID == "o1")
        #expect(try adopt("found", as: record))
        try owner.stage(.deletion(of: file, version: 0))
        try owner.commit()
        #expect(try !adopt("again", as: record))
    }
}
