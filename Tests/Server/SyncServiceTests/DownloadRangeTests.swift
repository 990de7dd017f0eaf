import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("DownloadFile, in parts and under conditions")
struct DownloadRangeTests {
    private let server: TestServer
    private let alice: Phone
    private let file = someFile()
    private let bytes = someBytes(300_000)

    init() throws {
        server = try TestServer(replacedVersionSeconds: 3_600)
        alice = try server.signUp()
        try publish(bytes, version: 0, master: 0)
    }

    private func publish(_ bytes: [UInt8], version: Int32, master: Int64) throws {
        try #require(server.upload(bytes, of: file, version: version, master: master, by: alice).status == 200)
        try #require(server.commit(from: master, by: alice).status == 200)
    }

    private func download(
        _ headers: [RequestHeader: String] = [:], version: Int32 = 0, master: Int64 = 1
    ) -> FakeConnection {
        server.send(
            DownloadFileRequest(
                fileUUID: file, fileVersion: FileVersion(version), masterVersion: MasterVersion(master),
                sharingGroupUUID: alice.group), as: alice, adding: headers)
    }

    private func tag(of bytes: [UInt8], version: Int32 = 0) -> String { "\"\(version)-\(md5(bytes))\"" }

    @Test("Only the range is fetched and sent, with the parameters of the whole file")
    func part() {
        let reply = download([.range: "bytes=100000-199999"])

        #expect(reply.status == 206 && reply.end == .finished)
        #expect(reply.body == Array(bytes[100_000...199_999]))
        #expect(reply.header("content-range") == "bytes 100000-199999/300000")
        #expect(reply.header("content-length") == "100000")
        #expect(reply.header("etag") == tag(of: bytes))
        #expect(reply.messageParams["checkSum"] as? String == md5(bytes))
        #expect(server.cloud.requestedRanges == [100_000...199_999])
        #expect(server.log.request?["status"] == "206" && server.log.request?["bytes_sent"] == "100000")
    }

    @Test("A range that covers the whole file is verified like the whole file")
    func everything() {
        let (cloud, objectID) = (server.cloud, server.cloud.objects.keys.first!)
        #expect(download([.range: "bytes=0-"]).body == bytes)
        var behaviour = FakeCloud.Behaviour()
        behaviour.beforeDownload = { cloud.replace(objectID, by: someBytes(300_000).map { ~$0 }) }
        server.cloud.behaviour = behaviour

        let reply = download([.range: "bytes=0-"])

        #expect(reply.status == 206 && reply.end == .abandoned)
        #expect(reply.body.count <= 300_000 - 65_536)
    }

    @Test("No part is sent of an object whose length has changed", arguments: [true, false])
    func otherLength(isAnnounced: Bool) {
        let (cloud, objectID) = (server.cloud, server.cloud.objects.keys.first!)
        var behaviour = FakeCloud.Behaviour()
        behaviour.announcesLength = isAnnounced
        behaviour.beforeDownload = { cloud.replace(objectID, by: someBytes(isAnnounced ? 400_000 : 150_000)) }
        server.cloud.behaviour = behaviour

        let reply = download([.range: "bytes=100000-199999"])

        #expect(isAnnounced ? reply.code == "cloud_unavailable" : reply.end == .abandoned)
    }

    @Test("A client that already has the bytes gets none, and the cloud is not asked")
    func notModified() {
        for header in [tag(of: bytes), "W/\(tag(of: bytes))", "\"x\", \(tag(of: bytes))", "*"] {
            let reply = download([.ifNoneMatch: header, .range: "bytes=0-1"])
            #expect(reply.status == 304 && reply.body.isEmpty && reply.header("etag") == tag(of: bytes))
        }
        #expect(server.cloud.requestedRanges.isEmpty)
        #expect(download([.ifNoneMatch: tag(of: [1])]).status == 200)
    }

    @Test("If-Range with anything but the tag of these bytes gets all of them", arguments: [true, false])
    func ifRange(isMet: Bool) {
        let others = [tag(of: bytes, version: 1), "W/\(tag(of: bytes))", "Fri, 01 May 2020 09:30:00 GMT", "*", "x"]
        for header in isMet ? [tag(of: bytes)] : others {
            #expect(download([.range: "bytes=1-2", .ifRange: header]).status == (isMet ? 206 : 200), "\(header)")
        }
    }

    @Test("A range beyond the end is rejected with the length; an empty file is sent completely")
    func beyond() throws {
        let refused = download([.range: "bytes=300000-"])
        #expect(refused.status == 416 && refused.code == "range_not_satisfiable")
        #expect(refused.header("content-range") == "bytes */300000")
        try publish([], version: 1, master: 1)

        let empty = download([.range: "bytes=0-"], version: 1, master: 2)

        #expect(empty.status == 200 && empty.body.isEmpty && empty.header("content-length") == "0")
    }

    @Test("A file changed by its owner has another tag: the part is of those bytes, and marked as changed")
    func changedByOwner() {
        let changed = someBytes(1_000)
        server.cloud.replace(server.cloud.objects.keys.first!, by: changed)

        let reply = download([.range: "bytes=-10"])

        #expect(reply.header("content-range") == "bytes 990-999/1000" && reply.body == Array(changed.suffix(10)))
        #expect(reply.messageParams["contentsChanged"] as? Bool == true)
        #expect(reply.header("etag") == tag(of: changed))
        #expect(download([.range: "bytes=1-2", .ifRange: tag(of: bytes)]).body == changed)
    }

    @Test("A download continues after its own or another file was replaced; new ones must refresh first")
    func replaced() throws {
        let other = someFile()
        try #require(server.upload([1], of: other, master: 1, by: alice).status == 200)
        try #require(server.commit(from: 1, by: alice).status == 200)
        let rest: [RequestHeader: String] = [.range: "bytes=200000-", .ifRange: tag(of: bytes)]
        #expect(download(rest).body == Array(bytes[200_000...]))
        try publish([2], version: 1, master: 2)

        let reply = download(rest)

        #expect(reply.status == 206 && reply.body == Array(bytes[200_000...]))
        #expect(reply.header("content-range") == "bytes 200000-299999/300000")
        for headers: [RequestHeader: String] in [
            [:], [.range: "bytes=0-"], [.ifRange: tag(of: bytes)], [.ifNoneMatch: tag(of: bytes)],
            [.range: "bytes=0-", .ifRange: tag(of: [2], version: 1)],
            [.range: "bytes=0-1,5-6", .ifRange: tag(of: bytes)],
        ] {
            let stale = download(headers)
            #expect(stale.messageParams["masterVersionUpdate"] as? Int == 3, "\(headers)")
            #expect(stale.body.isEmpty && stale.header("etag") == nil)
        }
    }

    @Test("A download in progress ends when the object is gone, and is not available to non-members")
    func over() throws {
        let rest: [RequestHeader: String] = [.range: "bytes=200000-", .ifRange: tag(of: bytes)]
        let old = server.cloud.objects.keys.first!
        try publish([2], version: 1, master: 1)
        let bob = try server.signUp("bob")
        let request = DownloadFileRequest(
            fileUUID: file, fileVersion: .first, masterVersion: MasterVersion(1), sharingGroupUUID: alice.group)
        #expect(server.send(request, as: bob, adding: rest).code == "not_a_member")
        #expect(download(rest).status == 206)
        server.cloud.replace(old, by: nil)
        #expect(download(rest).messageParams["masterVersionUpdate"] as? Int == 2)
        #expect(download(rest).header("etag") == nil)
    }

    @Test("A replaced object's deletion is due after the grace period, not before")
    func grace() throws {
        try publish([2], version: 1, master: 1)

        #expect(
            try server.count(
                "SELECT TIMESTAMPDIFF(SECOND, created_at, available_at) FROM outbox WHERE file_version = 0")
                == 3_600)
    }
}
