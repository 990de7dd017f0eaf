import Foundation
import TestSupport
import Testing

@Suite("DownloadFile: ranges and conditions")
struct DownloadRangeTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    static let providers: [SandboxProvider] = [.google, .dropbox, .microsoft]

    @Test("Every reply with bytes has the same ETag and announces support for ranges", arguments: providers)
    func tag(provider: SandboxProvider) throws {
        let alice = try server.signUpOwningUser(provider)
        let file = TestFile(randomBytes: 1_000).stored(at: provider)
        try alice.publish(file, masterVersion: 0)

        let whole = try alice.download(file, masterVersion: 1)
        let part = try alice.download(file, masterVersion: 1, headers: [("Range", "bytes=1-2")])

        expectDownload(whole, of: file)
        let tag = try #require(whole.values(of: "etag").first)
        #expect(tag == "\"0-\(file.checkSum)\"")
        #expect(part.values(of: "etag") == [tag])
        for reply in [whole, part] {
            #expect(reply.values(of: "accept-ranges") == ["bytes"])
            #expect(reply.values(of: "cache-control") == ["no-store"])
        }
        #expect(part.messageParameters?.names == whole.messageParameters?.names)
        #expect(part.messageParameters?.checkSum?.text == file.checkSum)
        let unchanged = try alice.download(file, masterVersion: 1, headers: [("If-None-Match", tag)])
        #expect(unchanged.status == 304 && unchanged.body.isEmpty && unchanged.values(of: "etag") == [tag])
    }

    @Test("Ranges add up to the file, regardless of their boundaries", arguments: providers, [1, 65_536, 200_001])
    func parts(provider: SandboxProvider, size: Int) throws {
        let alice = try server.signUpOwningUser(provider)
        let file = TestFile(randomBytes: size).stored(at: provider)
        try alice.publish(file, masterVersion: 0)
        var ranges = ["bytes=0-0": 0..<1, "bytes=-1": size - 1..<size, "bytes=0-": 0..<size, "bytes=-999999": 0..<size]
        for border in [1, 65_535, 65_536, 65_537, size - 65_536, size - 1] where border > 0 && border < size {
            ranges["bytes=0-\(border - 1)"] = 0..<border
            ranges["bytes=\(border)-"] = border..<size
        }

        for (header, expected) in ranges {
            let reply = try alice.download(file, masterVersion: 1, headers: [("Range", header)])

            #expect(reply.status == 206 && reply.isComplete, "\(header)")
            #expect(reply.body == Array(file.contents[expected]), "\(header)")
            let range = "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(size)"
            #expect(reply.values(of: "content-range") == [range])
            #expect(reply.values(of: "content-length") == ["\(expected.count)"])
        }
    }

    @Test("A range beyond the end gets 416 with the length; anything but a single byte range gets the whole file")
    func otherRanges() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("Hello World")
        try alice.publish(file, masterVersion: 0)

        for header in ["bytes=11-", "bytes=11-20", "bytes=-0"] {
            let refused = try alice.download(file, masterVersion: 1, headers: [("Range", header)])
            expectError(refused, 416)
            #expect(refused.json?.code?.text == "range_not_satisfiable")
            #expect(refused.values(of: "content-range") == ["bytes */11"])
        }
        for header in ["bytes=0-1,3-4", "bytes=3-1", "lines=1-2", "bytes=x"] {
            expectDownload(try alice.download(file, masterVersion: 1, headers: [("Range", header)]), of: file)
        }
        let other = [("Range", "bytes=1-2"), ("If-Range", "\"1-\(file.checkSum)\"")]
        expectDownload(try alice.download(file, masterVersion: 1, headers: other), of: file)
    }

    @Test("An empty file is sent as a whole")
    func empty() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("")
        try alice.publish(file, masterVersion: 0)

        for header in ["bytes=0-", "bytes=-5", "bytes=0-0"] {
            expectDownload(try alice.download(file, masterVersion: 1, headers: [("Range", header)]), of: file)
        }
    }

    @Test("curl and wget can resume a partial download", arguments: ["curl", "wget"])
    func commonTools(tool: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 200_000)
        try alice.publish(file, masterVersion: 0)
        let target = FileManager.default.temporaryDirectory.appending(path: "range-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: target) }
        try Data(file.contents.prefix(70_000)).write(to: target)
        let query = ClientQuery.text(alice.downloadParameters(file, masterVersion: 1))
        let url = "http://\(server.address.host):\(server.address.port)/DownloadFile/\(query)"
        let headers = alice.headers.map { "\($0.name): \($0.value)" }

        let command =
            tool == "curl"
            ? try Command(
                "/usr/bin/curl",
                ["-sS", "--fail", "-C", "-", "-o", target.path, url] + headers.flatMap { ["-H", $0] })
            : try Command("/usr/bin/wget", ["-q", "-c", "-O", target.path, url] + headers.map { "--header=\($0)" })

        #expect(command.status == 0, "\(command.output)")
        #expect(Array(try Data(contentsOf: target)) == file.contents)
    }
}

extension PrivateStackTests {
    @Suite("Downloads of replaced versions")
    struct ReplacedDownloadTests {
        private static let result = Result {
            try TestServer(PrivateStack("grace", responders: 1, overrides: #"{"replacedVersionSeconds": 3600}"#))
        }
        let server: TestServer

        init() throws { server = try Self.result.get() }

        private func rest(_ file: TestFile, from position: Int) -> [(name: String, value: String)] {
            [("Range", "bytes=\(position)-"), ("If-Range", "\"\(file.version)-\(file.checkSum)\"")]
        }

        @Test(
            "An interrupted download of a replaced version can be completed until the grace period ends",
            arguments: DownloadRangeTests.providers)
        func resumed(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider)
            let file = TestFile(randomBytes: 100_000).stored(at: provider)
            try alice.publish(file, masterVersion: 0)
            try alice.publish(file.next("new"), masterVersion: 1)

            let reply = try alice.download(file, masterVersion: 1, headers: rest(file, from: 60_000))

            #expect(reply.status == 206 && reply.body == Array(file.contents[60_000...]))
            #expect(reply.values(of: "content-range") == ["bytes 60000-99999/100000"])
            #expect(reply.messageParameters?.checkSum?.text == file.checkSum)
            // Without both headers, the client must refresh its index as usual.
            expectStale(try alice.download(file, masterVersion: 1), 2)
            expectStale(try alice.download(file, masterVersion: 1, headers: [("Range", "bytes=1-")]), 2)
            expectDownload(try alice.download(file.next("new"), masterVersion: 2), of: file.next("new"))

            // Waiting objects are not orphans, and operators can list them.
            let tool = try OperatorTool(server)
            let jobs = try tool.json("jobs", "list", "--user", "\(alice.userID)", "--kind", "deleteObject").items?.array
            let job = try #require(jobs?.first?.jobID?.integer)
            #expect(jobs?.count == 1 && jobs?.first?.state?.text == "waiting")
            #expect(try tool.run("files", "explain", file.uuid).output.contains("job \(job)"))
            try tool.json("jobs", "retry", "\(job)")

            try await eventually("only the new version is stored") {
                try alice.stored(file).map(\.version) == ["1"]
            }
            expectStale(try alice.download(file, masterVersion: 1, headers: rest(file, from: 60_000)), 2)
        }

        @Test("A replacement or deletion does not disturb a download in progress", arguments: [true, false])
        func inProgress(isReplaced: Bool) throws {
            let alice = try server.signUpOwningUser()
            // More than the buffers of the sockets and nginx hold.
            let file = TestFile(randomBytes: 40_000_000)
            try alice.publish(file, masterVersion: 0)
            var conversation = try HTTPConversation(to: server.address)
            let query = ClientQuery.text(alice.downloadParameters(file, masterVersion: 1))
            let headers = alice.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
            try conversation.send(
                "GET /DownloadFile/\(query) HTTP/1.1\r\nHost: \(server.address.host)\r\n\(headers)\r\n")
            var received: [UInt8] = []
            var isDone = false

            let reply = try conversation.reply { bytes in
                received += bytes
                guard !isDone else { return }
                isDone = true
                if isReplaced {
                    try alice.publish(file.next("new"), masterVersion: 1)
                } else {
                    try alice.deleteAndCommit(file, masterVersion: 1)
                }
            }

            #expect(reply.isComplete && received == file.contents)
        }

        @Test("A download can be resumed after another file of the group has changed")
        func otherFile() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 1_000)
            try alice.publish(file, masterVersion: 0)
            try alice.publish(TestFile("another"), masterVersion: 1)

            let reply = try alice.download(file, masterVersion: 1, headers: rest(file, from: 999))

            #expect(reply.status == 206 && reply.body == [file.contents[999]])
        }

        @Test("A download of a deleted file cannot be resumed, and its object waits like a replaced one")
        func deleted() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 1_000)
            try alice.publish(file, masterVersion: 0)
            try alice.deleteAndCommit(file, masterVersion: 1)

            expectStale(try alice.download(file, masterVersion: 1, headers: rest(file, from: 999)), 2)
            #expect(try alice.stored(file).count == 1)
        }

        @Test("Replaced versions of a removed user are deleted immediately")
        func leaving() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("old")
            try alice.publish(file, masterVersion: 0)
            try alice.publish(file.next("new"), masterVersion: 1)
            #expect(try alice.stored(file).count == 2)

            #expect(try alice.removeAccount().status == 200)

            try await eventually("the replaced version is deleted") { try alice.stored(file).map(\.version) == ["1"] }
        }

        @Test(
            "A file whose object waits for deletion can be added to another group immediately",
            arguments: DownloadRangeTests.providers)
        func addedAgain(provider: SandboxProvider) throws {
            let alice = try server.signUpOwningUser(provider)
            let file = TestFile("the same").stored(at: provider)
            try alice.publish(file, masterVersion: 0)
            try alice.deleteAndCommit(file, masterVersion: 1)
            let other = try alice.newGroup()

            try alice.publish(file, masterVersion: 0, group: other)

            expectDownload(try alice.download(file, masterVersion: 1, group: other), of: file)
        }
    }
}
