import Foundation
import TestSupport
import Testing

@Suite("Texts round-trip unchanged")
struct QueryDecodingTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    static let texts = [
        "plain", "with spaces in it", "{\"a\":1}", "{\"nested\":{\"list\":[1,2,\"x\"]},\"text\":\"say \\\"hi\\\"\"}",
        "Tom & Jerry", "a&mimeType=image/jpeg&b", "1 + 1 = 2", "100% done", "%41%zz%", "it's", "say \"hi\"",
        "back\\slash", "two\nlines\r\nthree", "tab\tand null\u{0}end", "emoji 🐱👨‍👩‍👧 and é, e\u{301}", "日本語",
        "\u{2028}\u{FEFF}", "</script>", "a=b;c,d", "", " ", "null", "?#[]@!$'()*~", "; DROP TABLE users; --",
    ]

    @Test("Metadata may contain any characters [96] [97] [127] [236] [319] [325] [F6]", arguments: texts)
    func metadata(text: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, text))

        let reply = try alice.download(file, masterVersion: 1, metadataVersion: 0)

        expectDownload(reply, of: file, metadata: text)
        let header = reply.values(of: "syncserver-message-params").joined()
        #expect(header.utf8.allSatisfy { (0x20...0x7e).contains($0) })
    }

    @Test(
        "Group names may contain any characters [F1] [F7]",
        arguments: ["Tom & Jerry", "a&b&c", "1+1", "50% & more", "Zoë\n🐱", "'; --", "x=y"])
    func groupNames(name: String) throws {
        let alice = try server.signUpOwningUser()

        let reply = try alice.commit(masterVersion: 0, overriding: ["sharingGroupName": name])

        expectJSON(reply)
        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == name)
    }

    @Test("Parameters may be percent-encoded or literal, in either letter case, and the version may be a string")
    func otherEncodings() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        let metadata = "{\"contents\":\"a/b + c\",\"version\":\"0\"}"
        let pairs = [
            "sharingGroupUUID=" + alice.group.replacingOccurrences(of: "-", with: "%2d"), "masterVersion=%30",
            "fileVersion=0", "fileUUID=\(file.uuid)", "checkSum=\(file.checkSum)", "mimeType=text/plain",
            "appMetaData="
                + metadata.replacingOccurrences(of: " ", with: "%20").replacingOccurrences(of: "\"", with: "%22"),
        ]

        let reply = try server.address.perform(
            HTTPCall(
                "POST", "/UploadFile/?" + pairs.joined(separator: "&"), headers: alice.headers, body: file.contents))
        #expect(reply.status == 200, "\(reply)")
        try alice.commitStaged(masterVersion: 0)

        expectDownload(
            try alice.download(file, masterVersion: 1, metadataVersion: 0), of: file, metadata: "a/b + c")
    }

    @Test("Unknown parameters are ignored")
    func unknownParameters() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()

        try alice.stage(file, masterVersion: 0, overriding: ["zebra": "1", "aardvark": "&&=", "testLockSync": "0"])
        #expect(
            try alice.commit(masterVersion: 0, overriding: ["zebra": "1"]).json?.numberUploadsTransferred == .integer(1)
        )
        expectJSON(try alice.call("GET", "Index", ["sharingGroupUUID": alice.group, "other": "x"]))
    }

    @Test(
        "Metadata that are not the expected JSON are rejected, and nothing is staged [128]",
        arguments: [
            "", "x", "{", "[]", "0", "null", "\"text\"", "{}", "{\"version\":0}", "{\"contents\":\"x\"}",
            "{\"version\":-1,\"contents\":\"x\"}", "{\"version\":\"a\",\"contents\":\"x\"}",
            "{\"version\":0.5,\"contents\":\"x\"}", "{\"version\":0,\"contents\":5}",
            "{\"version\":0,\"contents\":null}", "{\"version\":0,\"contents\":{\"a\":1}}",
            "{\"version\":true,\"contents\":\"x\"}", "{\"version\":99999999999,\"contents\":\"x\"}",
            "{\"version\":0,\"contents\":\"x\"} trailing", "{\"version\":0,\"contents\":\"x\"", "{'version':0}",
            "{\"version\":0,\"contents\":\"\n\"}",
        ])
    func badMetadata(text: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()

        expectError(try alice.upload(file, masterVersion: 0, overriding: ["appMetaData": text]), 400)

        #expect(try alice.stagedUploads().isEmpty)
        #expect(try alice.stored(file).isEmpty)
    }

    @Test("Push messages may contain any characters", arguments: ["a&b", "100%", "x=y&z", "\n🎉"])
    func pushMessages(text: String) throws {
        let alice = try server.signUpOwningUser(groupName: "Stays")

        expectJSON(try alice.commit(masterVersion: 0, overriding: ["pushNotificationMessage": text]))
        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == "Stays")
    }
}
