import Foundation
import TestSupport
import Testing

/// Simulates one host per role, whose wall clocks differ by hours from each other's and the database's.
extension PrivateStackTests {
    @Suite("Hosts whose clocks differ by hours")
    struct ClockTests {
        let server: TestServer

        init() throws { server = try TestServer.withWrongClocks() }

        @Test("Times in replies come from the database, not from the host's clock")
        func presentTime() throws {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "yyyy-MM-dd HH:mm:ss"

            let told = try #require(format.date(from: try server.clock()))

            #expect(abs(told.timeIntervalSinceNow) < 60)
        }

        @Test("A jobs host that is hours ahead does not take over an upload in progress")
        func uploadInProgress() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 2_000_000)

            var conversation = try alice.beginUpload(file, sending: 1_000_000)
            // The jobs role looks for work twice a second; another deletion proves that it has looked since.
            let other = alice.onAnotherDevice()
            let first = TestFile("first")
            var second = first
            second.contents = Array("second".utf8)
            try other.stage(first, masterVersion: 0)
            try other.stage(second, masterVersion: 0)
            try await eventually("the jobs role has deleted the replaced object") { try alice.stored(first).count == 1 }

            try conversation.send(file.contents.dropFirst(1_000_000))
            let reply = try conversation.reply()

            #expect(reply.status == 200, "\(reply)")
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("A host whose clock is hours behind performs another host's queued work immediately")
        func queuedWork() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("old")
            try alice.publish(file, masterVersion: 0)

            try alice.publish(file.next("new"), masterVersion: 1)

            try await eventually("only the new version is stored") {
                try alice.stored(file).map(\.version) == ["1"]
            }
        }
    }
}
