import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("State read for an upload")
struct UploadSituationTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner: Member
    private let storage: OwningUser

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = OwningUser(userID: owner.user, storageType: .google)
    }

    private func situation(of file: FileUUID, for member: Member? = nil) throws -> UploadSituation? {
        let member = member ?? owner
        return try store.withSession { session in
            let caller = try #require(try session.user(member.user))
            return try session.uploadSituation(
                of: file, by: caller, on: member.area.deviceUUID, in: member.group)
        }
    }

    @Test("For a new file only the membership exists, the same as if queried separately")
    func newFile() throws {
        let guest = try fixture.addGuest(of: owner)

        for member in [owner, guest] {
            let found = try #require(try situation(of: someFile(), for: member))
            #expect(try found.membership == fixture.membership(of: member.user, in: member.group))
            #expect(found.membership.owningUser == storage)
            #expect(found.staged == nil)
            #expect(found.current == nil)
            #expect(!found.isLiveElsewhere)
        }
    }

    @Test("A sharing user whose owner has left has no storage")
    func ownerGone() throws {
        let guest = try fixture.addGuest(of: owner)
        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE memberships SET owning_user_id = NULL")

        #expect(try situation(of: someFile(), for: guest)?.membership.owningUser == nil)
        #expect(try situation(of: someFile())?.membership.owningUser == storage)
    }

    @Test("Committed file and staged change are the same as if queried separately, in any letter case")
    func fileAndStaged() throws {
        let file = FileUUID("ABCDEF01-2345-4678-9abc-def012345678")!
        try owner.addFile(file)
        let next = StagedChange.upload(
            of: file, version: 1, object: "next", owner: storage, metaData: (version: 0, contents: "{}"))
        try owner.stage(next)

        let found = try #require(try situation(of: FileUUID(file.rawValue.lowercased())!))
        #expect(try found.current == owner.file(file))
        #expect(found.staged == next)
        #expect(!found.isLiveElsewhere)
        let tablet = try fixture.member(owner.user, of: owner.group)
        #expect(try situation(of: file, for: tablet)?.staged == nil, "another device's")
    }

    @Test("A file in another group is reported as long as it is live there")
    func otherGroup() throws {
        let other = try fixture.member(owner.user, of: fixture.addGroup(of: owner.user))
        let file = try other.addFile()

        #expect(try situation(of: file)?.isLiveElsewhere == true)
        #expect(try situation(of: file)?.current == nil)
        try other.stage(.deletion(of: file, version: 0))
        try other.commit()
        #expect(try situation(of: file)?.isLiveElsewhere == false)
        #expect(try situation(of: file, for: other)?.current?.isDeleted == true)
    }

    @Test("Non-members get nothing, and after the group's deletion nobody does")
    func noMember() throws {
        var stranger = try fixture.addOwner()
        stranger.group = owner.group
        #expect(try situation(of: someFile(), for: stranger) == nil)

        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE sharing_groups SET is_deleted = TRUE")
        #expect(try situation(of: someFile()) == nil)
    }
}
