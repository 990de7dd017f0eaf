import SyncProtocol
import Testing

@testable import SyncService

@Suite("Entity tags of Index")
struct EntityTagTests {
    private static let group = SharingGroupUUID("AAAAAAAA-0000-4000-8000-000000000001")!

    private func tag(
        _ request: IndexRequest = IndexRequest(sharingGroupUUID: group), of caller: Int64 = 1,
        by version: String = "1.2.3"
    ) -> EntityTag {
        EntityTag(groups: [], request: request, caller: UserID(caller), serverVersion: version)
    }

    @Test("A user's identical requests to a server in the same state have the same tag; any other request has another")
    func differences() {
        let others = [
            tag(IndexRequest(sharingGroupUUID: nil)),
            tag(IndexRequest(sharingGroupUUID: SharingGroupUUID("BBBBBBBB-0000-4000-8000-000000000001")!)),
            tag(IndexRequest(sharingGroupUUID: Self.group, since: MasterVersion(0))),
            tag(IndexRequest(sharingGroupUUID: Self.group, since: MasterVersion(1))),
            tag(of: 2), tag(by: "1.2.4"),
        ]

        #expect(tag() == tag())
        #expect(Set((others + [tag()]).map(\.text)).count == others.count + 1)
    }

    @Test("A tag of one request does not match another")
    func otherQuestion() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        func ask(_ request: IndexRequest, ifNoneMatch tag: String?) -> FakeConnection {
            server.send(request, as: alice, adding: tag.map { [.ifNoneMatch: $0] } ?? [:])
        }
        let whole = IndexRequest(sharingGroupUUID: alice.group)
        let tag = ask(whole, ifNoneMatch: nil).header("etag")

        #expect(ask(whole, ifNoneMatch: tag).status == 304)
        #expect(
            ask(IndexRequest(sharingGroupUUID: alice.group, since: MasterVersion(0)), ifNoneMatch: tag).status == 200)
        #expect(ask(IndexRequest(sharingGroupUUID: nil), ifNoneMatch: tag).status == 200)
    }
}
