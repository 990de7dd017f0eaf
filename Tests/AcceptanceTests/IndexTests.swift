import Foundation
import TestSupport
import Testing

@Suite("Index")
struct IndexTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A new user's group is empty and has master version 0 [72]")
    func newGroup() throws {
        let alice = try server.signUpOwningUser()

        let index = try alice.index()

        #expect(index.masterVersion == 0)
        #expect(index.json.fileIndex == .array([]))
        #expect(index.groups.count == 1)
    }

    @Test("Without a group in the request, only the groups are listed, each with its members [73] [82] [86]")
    func noGroupAsked() throws {
        let alice = try server.signUpOwningUser(name: "Alice A")

        let index = try alice.groups()

        #expect(index.json.names == ["sharingGroups"])
        let group = try #require(index.groups.first)
        #expect(index.groups.count == 1)
        #expect(group.sharingGroupUUID?.text == alice.group)
        #expect(!group.names.contains("sharingGroupName"))
        #expect(group.deleted == .bool(false))
        #expect(group.masterVersion == .integer(0))
        #expect(group.permission?.text == "admin")
        #expect(
            group.sharingGroupUsers
                == .array([.object(["name": .string("Alice A"), "userId": .integer(alice.userID)])]))
    }

    @Test("A committed file is listed with exactly the fields that clients need [74] [75] [76] [86] [87] [88]")
    func committedFile() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let index = try alice.index()

        let entry = try #require(index.file(file))
        #expect(index.masterVersion == 1)
        #expect(index.group(alice.group)?.masterVersion == .integer(1))
        #expect(
            entry.names == [
                "fileUUID", "deviceUUID", "sharingGroupUUID", "creationDate", "updateDate", "mimeType", "deleted",
                "fileVersion", "owningUserId", "cloudStorageType",
            ])
        #expect(entry.deviceUUID?.text == alice.device)
        #expect(entry.sharingGroupUUID?.text == alice.group)
        #expect(isWireDate(entry.creationDate?.text) && isWireDate(entry.updateDate?.text))
        #expect(entry.mimeType?.text == "text/plain")
        #expect(entry.deleted == .bool(false))
        #expect(entry.fileVersion == .integer(0))
        #expect(entry.owningUserId == .integer(alice.userID))
        #expect(entry.cloudStorageType?.text == "Google")
        // The stored checksum is visible in the download, where it determines `contentsChanged`.
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("File group and metadata version are listed if present; metadata never are [88]")
    func optionalFields() throws {
        let alice = try server.signUpOwningUser()
        var file = TestFile()
        file.fileGroup = UUID().uuidString
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "secret of the file"))

        let reply = try alice.call("GET", "Index", ["sharingGroupUUID": alice.group])

        let entry = reply.json.flatMap { $0.fileIndex?.array?.first }
        #expect(entry?.fileGroupUUID?.text == file.fileGroup)
        #expect(entry?.appMetaDataVersion == .integer(0))
        #expect(!String(decoding: reply.body, as: UTF8.self).contains("secret of the file"))
    }

    @Test("Two files of one commit are listed at master version 1 [77]")
    func twoFiles() throws {
        let alice = try server.signUpOwningUser()
        let files = [TestFile("one"), TestFile("two")]
        for file in files { try alice.stage(file, masterVersion: 0) }
        try alice.commitStaged(masterVersion: 0)

        let index = try alice.index()

        #expect(index.masterVersion == 1)
        #expect(index.fileUUIDs == Set(files.map(\.uuid)))
    }

    @Test("Staged files are not listed, not even to their uploader")
    func stagedFiles() throws {
        let alice = try server.signUpOwningUser()

        try alice.stage(TestFile(), masterVersion: 0)

        #expect(try alice.index().files.isEmpty)
    }

    @Test("An unknown group, or another user's, is a 404 [78] [79]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let stranger = try server.signUpOwningUser()

        expectError(try alice.call("GET", "Index", ["sharingGroupUUID": UUID().uuidString]), 404)
        expectError(try alice.call("GET", "Index", ["sharingGroupUUID": stranger.group]), 404)
        expectError(try alice.call("GET", "Index", ["sharingGroupUUID": "odd text; '"]), 404)
    }

    @Test("Files at versions 2, 3 and 5 are listed with the devices that uploaded them [80]")
    func manyVersions() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        var expected: [String: (version: Int64, device: String)] = [:]
        var masterVersion: Int64 = 0
        for last in [2, 3, 5] {
            var file = TestFile("version 0")
            for version in 0...last {
                let user = version == last ? phone : alice
                try user.publish(file, masterVersion: masterVersion)
                masterVersion += 1
                if version < last { file = file.next("version \(version + 1)") }
            }
            expected[file.uuid] = (Int64(last), phone.device)
        }

        let index = try alice.index()

        #expect(index.files.count == 3)
        for entry in index.files {
            let file = try #require(expected[entry.fileUUID?.text ?? ""])
            #expect(entry.fileVersion?.integer == file.version)
            #expect(entry.deviceUUID?.text == file.device)
        }
        #expect(index.masterVersion == masterVersion)
    }

    @Test("Each member sees their own permission [82] [83]")
    func permissions() throws {
        let alice = try server.signUpOwningUser()

        for permission in TestPermission.allCases {
            let member = try alice.newMember(permission)
            #expect(try member.groups().group(alice.group)?.permission?.text == permission.rawValue)
        }
        #expect(try alice.groups().group(alice.group)?.permission?.text == "admin")
    }

    @Test("A group's storage type is the owner's for sharing users, and absent for owning ones [84] [277]")
    func storageType() throws {
        let alice = try server.signUpOwningUser()
        let facebook = try alice.newMember(.write)
        let google = try alice.newMember(.write, provider: .google)

        #expect(try facebook.groups().group(alice.group)?.cloudStorageType?.text == "Google")
        #expect(try google.groups().group(alice.group)?.names.contains("cloudStorageType") == false)
        #expect(try alice.groups().group(alice.group)?.names.contains("cloudStorageType") == false)
    }

    @Test("A file's dates lie between the times before and after its upload [85]")
    func dates() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        let before = try server.clock()
        let staged = try alice.stage(file, masterVersion: 0)
        let after = try server.clock()
        try alice.commitStaged(masterVersion: 0)

        let entry = try #require(try alice.index().file(file))

        #expect(entry.creationDate == staged.creationDate && entry.updateDate == staged.updateDate)
        let date = try #require(entry.creationDate?.text)
        #expect(before <= date && date <= after)
        #expect(entry.updateDate?.text == date)
    }

    @Test("Requests ignore the letter case of a group's UUID; replies keep the original")
    func letterCase() throws {
        let alice = try server.signUpOwningUser()

        let index = try alice.index(of: alice.group.lowercased())

        #expect(index.masterVersion == 0)
        #expect(index.group(alice.group) != nil)
    }
}
