import Foundation
import TestSupport
import Testing

@Suite("DownloadAppMetaData")
struct AppMetaDataDownloadTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Unknown and malformed files, other versions and files without metadata are errors [150] [151] [152] [153]")
    func refused() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        let bare = TestFile("no metadata")
        try alice.stage(file, masterVersion: 0, metadata: TestMetadata(0, "x"))
        try alice.stage(bare, masterVersion: 0)
        try alice.commitStaged(masterVersion: 0)
        var malformed = TestFile()
        malformed.uuid = "foobar"

        let cases: [(TestFile, Int, Int, String)] = [
            (TestFile(), 0, 404, "file_unknown"), (malformed, 0, 400, "malformed_parameter"),
            (file, 1, 409, "app_meta_data_version_mismatch"), (bare, 0, 404, "app_meta_data_unknown"),
        ]
        for (file, version, status, code) in cases {
            let reply = try alice.downloadMetadata(of: file, version: version, masterVersion: 1)
            expectError(reply, status)
            #expect(reply.json?.code?.text == code)
        }
    }

    @Test("Unknown groups, other users' groups, and another group's file through one's own group [154] [158] [159]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let file = TestFile()
        try carol.publish(file, masterVersion: 0, metadata: TestMetadata(0, "secret"))

        expectError(try alice.downloadMetadata(of: file, version: 0, masterVersion: 0), 404)
        for group in [UUID().uuidString, carol.group] {
            expectError(
                try alice.downloadMetadata(of: file, version: 0, masterVersion: 1, group: group), 410,
                goneReason: "userRemoved")
        }
    }

    @Test("Each version is returned while it is current, including to a reader [155] [156]")
    func versions() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)
        let file = TestFile()
        try alice.publish(file, masterVersion: 1, metadata: TestMetadata(0, "zero"))
        #expect(
            try bob.downloadMetadata(of: file, version: 0, masterVersion: 2).json
                == .object(["appMetaData": .string("zero")]))

        try alice.publish(file.next("more"), masterVersion: 2, metadata: TestMetadata(1, "one"))

        #expect(
            try bob.downloadMetadata(of: file, version: 1, masterVersion: 3).json
                == .object(["appMetaData": .string("one")]))
        expectError(try bob.downloadMetadata(of: file, version: 0, masterVersion: 3), 409)
    }

    @Test("A next file version without metadata keeps the old metadata [157]")
    func untouched() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "stays"))
        try alice.publish(file.next("more"), masterVersion: 1)

        let reply = try alice.downloadMetadata(of: file, version: 0, masterVersion: 2)

        #expect(reply.json == .object(["appMetaData": .string("stays")]))
    }

    @Test("A deleted file has no metadata, and a stale caller gets only the master version [161]")
    func deletedAndStale() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "x"))
        for version in [Int64(0), 9] {
            expectStale(try alice.downloadMetadata(of: file, version: 0, masterVersion: version), 1)
        }
        try alice.deleteAndCommit(file, masterVersion: 1)

        let reply = try alice.downloadMetadata(of: file, version: 0, masterVersion: 2)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "file_deleted")
    }

    @Test("Empty contents are an empty text; special characters are returned unchanged [162]")
    func contents() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        let texts = ["", "a&b+c%d'e\"f\\g\nh\u{1}i", "😀 ü / {\"json\":[1]}", "mimeType=text&fileVersion=7"]

        for (version, text) in texts.enumerated() {
            let masterVersion = Int64(1 + version)
            try alice.stageMetadata(of: file, TestMetadata(version, text), masterVersion: masterVersion)
            try alice.commitStaged(masterVersion: masterVersion)
            let reply = try alice.downloadMetadata(of: file, version: version, masterVersion: masterVersion + 1)
            #expect(reply.json == .object(["appMetaData": .string(text)]))
        }
    }
}
