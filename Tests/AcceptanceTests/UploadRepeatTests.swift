import Foundation
import TestSupport
import Testing

@Suite("Repeated uploads")
struct UploadRepeatTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Repeating an upload before the commit succeeds with the same dates and one object [95] [182] [F39]")
    func repeated() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 300_000)

        let first = try alice.stage(file, masterVersion: 0)
        let second = try alice.stage(file, masterVersion: 0)

        #expect(first.creationDate == second.creationDate)
        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.stored(file).count == 1)
        #expect(try alice.commitStaged(masterVersion: 0) == 1)
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("Different contents for the same version replace the staged ones")
    func replaced() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("first thought")
        var better = file
        better.contents = Array("second thought".utf8)
        try alice.stage(file, masterVersion: 0, metadata: TestMetadata(0, "first"))

        try alice.stage(better, masterVersion: 0, metadata: TestMetadata(0, "second"))

        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 0) == 1)
        expectDownload(
            try alice.download(better, masterVersion: 1, metadataVersion: 0), of: better, metadata: "second")
        try await eventually("the replaced object is deleted") {
            try alice.stored(file).map(\.checkSum) == [better.checkSum]
        }
    }

    @Test("The next upload of the file replaces a row left by a stale commit [133] [F2]")
    func leftOver() async throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        try alice.stage(file.next("lost"), masterVersion: 1)
        try phone.publish(file.next("won"), masterVersion: 1)
        expectStale(try alice.commit(masterVersion: 1), 2)
        let merged = file.next("won").next("merged")

        try alice.publish(merged, masterVersion: 2)

        expectDownload(try phone.download(merged, masterVersion: 3), of: merged)
        try await eventually("only the newest version is stored") {
            try alice.stored(file).map(\.name) == [merged.cloudName(device: alice.device)]
        }
    }

    @Test("Different contents of the same version also replace a row left by a stale commit")
    func leftOverSameVersion() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        try alice.stage(file.next("early"), masterVersion: 1)
        try phone.publish(TestFile("another file"), masterVersion: 1)
        expectStale(try alice.commit(masterVersion: 1), 2)
        let late = file.next("late")

        try alice.publish(late, masterVersion: 2)

        expectDownload(try phone.download(late, masterVersion: 3), of: late)
    }

    @Test("A failed upload can be repeated and then succeeds")
    func afterFailure() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 100_000)
        expectError(try alice.upload(file, masterVersion: 0, overriding: ["checkSum": TestFile("x").checkSum]), 422)

        try alice.publish(file, masterVersion: 0)

        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("Two devices may stage the same next version; the first commit wins [199]")
    func sameVersionOnTwoDevices() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        try alice.stage(file.next("alice"), masterVersion: 1)
        try phone.stage(file.next("phone"), masterVersion: 1)

        #expect(try phone.commitStaged(masterVersion: 1) == 1)
        expectStale(try alice.commit(masterVersion: 1), 2)

        let won = file.next("phone")
        expectDownload(try alice.download(won, masterVersion: 2), of: won)
    }
}
