import Foundation
import TestSupport
import Testing

/// Every role on a host of its own, as it were, whose wall clock is hours away from the others' and the database's.
extension PrivateStackTests {
    @Suite("Hosts whose clocks differ by hours")
    struct ClockTests {
        let server: TestServer

        init() throws { server = try TestServer.withWrongClocks() }

        @Test("Times in replies are the database's, whatever the host's clock says")
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
            // The jobs role looks for work twice a second; another deletion shows that it has looked since.
            let other = alice.onAnotherDevice()
            let first = TestFile("first")
            var second = first
            second.contents = Array("second".utf8)
            try other.stage(first, masterVersion: 0)
            try other.stage(second, masterVersion: 0)
            try await eventually("the jobs role has cleared what was replaced") { try alice.stored(first).count == 1 }

            try conversation.send(file.contents.dropFirst(1_000_000))
            let reply = try conversation.reply()

            #expect(reply.status == 200, "\(reply)")
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("Work queued by one host is done at once by another, though its clock is hours behind")
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
