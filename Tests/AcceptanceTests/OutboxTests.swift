import Foundation
import TestSupport
import Testing

@Suite("Work after a commit")
struct OutboxTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("After the next version's commit, the replaced object is deleted and the new one is kept [204]")
    func replacedVersion() async throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile("old")
        let next = file.next("new")
        try alice.publish(file, masterVersion: 0)
        try phone.stage(next, masterVersion: 1)
        #expect(Set(try alice.stored(file).map(\.version)) == ["0", "1"])

        try phone.commitStaged(masterVersion: 1)

        try await eventually("only the new version is stored") {
            try alice.stored(file).map(\.name) == [next.cloudName(device: phone.device)]
        }
        expectDownload(try alice.download(next, masterVersion: 2), of: next)
    }

    @Test("Nothing is deleted before the commit, and a stale commit deletes nothing [F9]")
    func nothingTooEarly() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("old")
        try alice.publish(file, masterVersion: 0)
        try alice.stage(file.next("new"), masterVersion: 1)

        expectStale(try alice.commit(masterVersion: 0, overriding: ["sharingGroupName": "x"]), 1)

        expectDownload(try alice.download(file, masterVersion: 1), of: file)
        #expect(try alice.stored(file).count == 2)
    }

    @Test("After ten versions, one object exists")
    func manyVersions() async throws {
        let alice = try server.signUpOwningUser()
        var file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        for version in 1...10 {
            file = file.next("version \(version)")
            try alice.publish(file, masterVersion: Int64(version))
        }

        let last = file
        try await eventually("only the last version is stored") {
            try alice.stored(last).map(\.name) == [last.cloudName(device: alice.device)]
        }
    }
}

extension StoredFile {
    /// The version in a protocol name: `fileUUID.deviceUUID.version.extension`.
    var version: String { String(name.split(separator: ".").dropFirst(2).first ?? "") }
}

extension PrivateStackTests {
    @Suite("Deletions that the storage temporarily rejects")
    final class DeletionRetryTests: Sendable {
        let server: TestServer

        init() throws {
            server = try TestServer.withFaults()
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        @Test(
            "The commit succeeds, and the deletion is retried until it succeeds [200] [208] [F11] [F12]",
            arguments: [500, 429])
        func retried(status: Int) async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile("old")
            let next = file.next("new")
            try alice.publish(file, masterVersion: 0)
            try alice.stage(next, masterVersion: 1)
            try server.sandbox.inject(SandboxFault(pathPrefix: "/drive/v3/files", method: "DELETE", status: status))
            let number = try server.sandbox.lastRequest()

            let reply = try alice.commit(masterVersion: 1)

            #expect(reply.json == .object(["numberUploadsTransferred": .integer(1)]))
            try await eventually("the deletion has been tried") {
                try server.sandbox.requests(since: number).contains { $0.method?.text == "DELETE" }
            }
            #expect(try alice.stored(file).count == 2)
            try server.sandbox.clearFaults()
            try await eventually("only the new version is stored", within: .seconds(90)) {
                try alice.stored(file).map(\.name) == [next.cloudName(device: alice.device)]
            }
        }

        @Test("A lost reply to a deletion is harmless [208]")
        func replyLost() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile("old")
            let next = file.next("new")
            try alice.publish(file, masterVersion: 0)
            var fault = SandboxFault(pathPrefix: "/drive/v3/files", method: "DELETE", status: 503, times: 1)
            fault.afterEffect = true
            try server.sandbox.inject(fault)

            try alice.publish(next, masterVersion: 1)

            try await eventually("only the new version is stored") {
                try alice.stored(file).map(\.name) == [next.cloudName(device: alice.device)]
            }
            expectDownload(try alice.download(next, masterVersion: 2), of: next)
        }
    }
}
