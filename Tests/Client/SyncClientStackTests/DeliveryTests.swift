import Foundation
import SyncClient
import TestSupport
import Testing

@Suite("Two devices and a server")
struct DeliveryTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A new user creates a group and uploads; another device gets the files", arguments: ServerKind.allCases)
    func simpleWay(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let group = SharingGroupUUID.random()
        try phone.client.createSharingGroup(sharingGroupUUID: group, sharingGroupName: "Holiday")
        let file = try phone.upload("sea", text: "at the sea", group: group)
        let report = try await phone.sync(group)
        #expect(report.uploaded == 1)
        #expect(try phone.leftovers() == [])
        #expect(Set(phone.client.sharingGroups.map(\.sharingGroupUUID)) == [phone.group, group])

        let tablet = try await phone.another()
        #expect(tablet.client.sharingGroups.first { $0.sharingGroupUUID == group }?.syncNeeded == true)
        let received = try await tablet.sync(group)

        #expect(received.delivered.map(\.attributes.fileUUID) == [file])
        #expect(tablet.app.taken.map(\.text) == ["sea"])
        #expect(tablet.app.taken.map(\.attributes.appMetaData) == ["at the sea"])
        #expect(tablet.app.taken.map(\.attributes.mimeType) == [MIMEType("text/plain")])
        #expect(tablet.client.sharingGroups.first { $0.sharingGroupUUID == group }?.syncNeeded == false)
        #expect(try tablet.leftovers() == [])
    }
}
