import Foundation
import TestSupport
import Testing

@Suite("Versions of a file, of its metadata and of its file group")
struct FileVersionTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("The next version from another device changes only the expected fields [105] [110]")
    func nextVersion() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile("old")
        let first = try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "old metadata"))
        let next = file.next("new contents")
        let before = try server.clock()

        let second = try phone.publish(next, masterVersion: 1, metadata: TestMetadata(1, "new metadata"))

        let after = try server.clock()
        let entry = try #require(try alice.index().file(file))
        #expect(entry.deviceUUID?.text == phone.device)
        #expect(entry.fileVersion == .integer(1))
        #expect(entry.appMetaDataVersion == .integer(1))
        #expect(entry.mimeType?.text == "text/plain")
        #expect(entry.deleted == .bool(false))
        #expect(entry.creationDate == first.creationDate && second.creationDate == first.creationDate)
        let updated = try #require(entry.updateDate?.text)
        #expect(before <= updated && updated <= after)
        expectDownload(
            try alice.download(next, masterVersion: 2, metadataVersion: 1), of: next, metadata: "new metadata")
    }

    @Test("Version 1 is rejected while version 0 is only staged, on any device [106]")
    func versionOneTooEarly() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.stage(file, masterVersion: 0)

        expectError(try alice.onAnotherDevice().upload(file.next("new"), masterVersion: 0), 409)
        expectError(try alice.upload(file.next("new"), masterVersion: 0), 409)

        #expect(try alice.stagedUploads().map { $0.fileVersion } == [.integer(0)])
        #expect(try alice.commitStaged(masterVersion: 0) == 1)
    }

    @Test("Version 2 is rejected while the same device's version 1 is only staged; version 1 stays unchanged [113]")
    func versionTwoTooEarly() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        let first = file.next("version 1")
        try alice.stage(first, masterVersion: 1)

        expectError(try alice.upload(first.next("version 2"), masterVersion: 1), 409)

        #expect(try alice.stagedUploads().map { $0.fileVersion } == [.integer(1)])
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        expectDownload(try alice.download(first, masterVersion: 2), of: first)
        try alice.publish(first.next("version 2"), masterVersion: 2)
    }

    @Test("After its commit, version 0 is rejected, and nothing changes [107]")
    func versionZeroAgain() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        var other = file
        other.contents = Array("other".utf8)

        expectError(try alice.onAnotherDevice().upload(other, masterVersion: 1), 409)

        let entry = try alice.index().file(file)
        #expect(entry?.deviceUUID?.text == alice.device)
        #expect(entry?.fileVersion == .integer(0))
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("A new file cannot start at version 1 [108]")
    func beginsAtOne() throws {
        let alice = try server.signUpOwningUser()

        expectError(try alice.upload(TestFile().next("new"), masterVersion: 0), 409)
    }

    @Test("Versions 1 to 5 can be committed one after the other [109] [193] [220] [221]")
    func manyVersions() throws {
        let alice = try server.signUpOwningUser()
        var file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)

        for version in 1...5 {
            file = file.next("version \(version)")
            try alice.publish(file, masterVersion: Int64(version))
        }

        expectDownload(try alice.download(file, masterVersion: 6), of: file)
        expectError(try alice.download(file.next(""), masterVersion: 6), 409)
        #expect(try alice.index().masterVersion == 6)
    }

    @Test("A version cannot be skipped [111]")
    func skipped() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        expectError(try alice.upload(file.next("1").next("2"), masterVersion: 1), 409)
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("The type cannot change with a version [112]")
    func typeChanged() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        var next = file.next("new")
        next.mimeType = "image/jpeg"

        expectError(try alice.upload(next, masterVersion: 1), 409)
    }

    @Test("The file group of version 0 is permanent, and cannot be set later [114] [115] [116]")
    func fileGroup() throws {
        let alice = try server.signUpOwningUser()
        var grouped = TestFile("in a group")
        grouped.fileGroup = UUID().uuidString
        let single = TestFile("alone")
        try alice.stage(grouped, masterVersion: 0)
        try alice.stage(single, masterVersion: 0)
        try alice.commitStaged(masterVersion: 0)
        var late = single.next("late")
        late.fileGroup = grouped.fileGroup

        #expect(try alice.index().file(grouped)?.fileGroupUUID?.text == grouped.fileGroup)
        #expect(try alice.index().file(single)?.names.contains("fileGroupUUID") == false)
        try alice.publish(grouped.next("next"), masterVersion: 1)
        #expect(try alice.index().file(grouped)?.fileGroupUUID?.text == grouped.fileGroup)
        expectError(try alice.upload(late, masterVersion: 2), 400, 409)
    }

    @Test("A version without metadata keeps the existing ones [120]")
    func metadataKept() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("old")
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "kept"))
        let next = file.next("new")

        try alice.publish(next, masterVersion: 1)

        #expect(try alice.index().file(file)?.appMetaDataVersion == .integer(0))
        expectDownload(try alice.download(next, masterVersion: 2, metadataVersion: 0), of: next, metadata: "kept")
    }

    @Test("Metadata begin at version 0, regardless of the file's version [126]")
    func metadataVersions() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("old")
        expectError(try alice.upload(file, masterVersion: 0, metadata: TestMetadata(1, "x")), 409)
        try alice.publish(file, masterVersion: 0)
        let next = file.next("new")
        expectError(try alice.upload(next, masterVersion: 1, metadata: TestMetadata(1, "x")), 409)

        try alice.publish(next, masterVersion: 1, metadata: TestMetadata(0, "first"))

        expectDownload(try alice.download(next, masterVersion: 2, metadataVersion: 0), of: next, metadata: "first")
        expectError(try alice.upload(next.next("3"), masterVersion: 2, metadata: TestMetadata(0, "x")), 409)
        expectError(try alice.upload(next.next("3"), masterVersion: 2, metadata: TestMetadata(2, "x")), 409)
    }

    @Test("Undeleting a new file is rejected; undeleting a live file is a normal next version [123] [F57]")
    func undelete() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("old")
        let undelete: [String: String?] = ["undeleteServerFile": "1"]
        expectError(try alice.upload(file, masterVersion: 0, overriding: undelete), 409)
        try alice.publish(file, masterVersion: 0)
        let next = file.next("new")

        try alice.stage(next, masterVersion: 1, overriding: undelete)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)

        expectDownload(try alice.download(next, masterVersion: 2), of: next)
    }

    @Test("A file that is live in one group is rejected in another [F42]")
    func otherGroup() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        #expect(try carol.redeem(alice.invite(.write)).status == 200)
        let file = TestFile()
        try carol.publish(file, masterVersion: 0)

        expectError(try carol.upload(file, masterVersion: 1, group: alice.group), 409)
    }
}
