import Foundation
import TestSupport
import Testing

@Suite("Many small files in one request")
struct SmallFileTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private static func files(_ count: Int, for storage: SandboxProvider = .google) -> [TestFile] {
        (0..<count).map { TestFile(randomBytes: $0 * 997).stored(at: storage) }
    }

    /// Expects that all results are successes with dates.
    private func expectStaged(_ results: [JSONValue], sourceLocation: SourceLocation = #_sourceLocation) {
        for result in results {
            #expect(result.status?.integer == 200, "\(result)", sourceLocation: sourceLocation)
            #expect(result.message?.updateDate?.text != nil, "\(result)", sourceLocation: sourceLocation)
        }
    }

    @Test(
        "Every storage gets all files, each once, and they can be downloaded [374]",
        arguments: [SandboxProvider.google, .dropbox, .microsoft, .webdav])
    func stored(in storage: SandboxProvider) throws {
        let alice = try server.signUpOwningUser(storage)
        let files = Self.files(20, for: storage)
        let form = SmallFilesForm(files, by: alice, masterVersion: 0)

        expectStaged(try alice.stage(form))
        // As after a lost reply.
        expectStaged(try alice.stage(form))

        #expect(try alice.commitStaged(masterVersion: 0) == 20)
        #expect(
            try Set(server.sandbox.files(of: alice.account).map(\.name)).isSuperset(
                of: files.map { $0.cloudName(device: alice.device) }))
        for file in files {
            #expect(try alice.stored(file).count == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }
    }

    @Test("Each file has its own result: refusals, a new version, a stale one, and a file for another group [375]")
    func results() throws {
        let alice = try server.signUpOwningUser()
        let known = TestFile("version 0")
        try alice.publish(known, masterVersion: 0)
        var unknownType = TestFile("of an unknown type")
        unknownType.mimeType = "application/x-unknown"
        let (wrong, large, other) = (TestFile("wrong"), TestFile(randomBytes: 262_145), TestFile("other group"))
        let files = [known.next("version 1"), unknownType, wrong, large, known.next("twice"), other, TestFile("good")]
        var form = SmallFilesForm(files, by: alice, masterVersion: 1)
        form.files[2].parameters["checkSum"] = TestFile("right").checkSum
        form.files[5].parameters["sharingGroupUUID"] = UUID().uuidString

        let results = try alice.stage(form)

        #expect(
            results.map { $0.error?.code?.text ?? "staged" } == [
                "staged", "unknown_mime_type", "checksum_mismatch", "body_too_large", "repeated_parameter",
                "parameter_out_of_range", "staged",
            ])
        #expect(results.map { $0.status?.integer } == [200, 400, 422, 413, 400, 400, 200])
        #expect(results[2].error?.retryable?.bool == true)
        #expect(results[2].error?.requestId?.text?.isEmpty == false)
        #expect(try alice.commitStaged(masterVersion: 1) == 2)
        expectDownload(try alice.download(files[0], masterVersion: 2), of: files[0])
        let late = try alice.stage(SmallFilesForm([TestFile("late")], by: alice, masterVersion: 1))
        #expect(late[0].message == .object(["masterVersionUpdate": .integer(2)]))
    }

    @Test("If a phone disconnects in the middle, what has arrived is staged, and repeating the request completes it")
    func hangUp() async throws {
        let alice = try server.signUpOwningUser()
        let files = Self.files(12)
        let form = SmallFilesForm(files, by: alice, masterVersion: 0)
        let body = form.body
        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(alice.smallFilesCall().head(for: server.address, contentLength: body.count))
        try conversation.send(body.prefix(form.end(of: 5) + 100))

        conversation.hangUp()

        // nginx passes on what has arrived, or drops it: both are correct, but nothing half may remain.
        expectStaged(try alice.stage(form))
        #expect(try alice.commitStaged(masterVersion: 0) == 12)
        for file in files { expectDownload(try alice.download(file, masterVersion: 1), of: file) }
        try await eventually("each file has one object") {
            try files.allSatisfy { try alice.stored($0).count == 1 }
        }
    }

    @Test("A body that ends early or lies about lengths is refused, and later requests are not affected [376]")
    func lies() throws {
        let alice = try server.signUpOwningUser()
        let files = Self.files(6)
        for (position, bytes) in [(2, 900), (2, 2_500), (3, 10_000_000), (5, -1)] {
            var form = SmallFilesForm(files, by: alice, masterVersion: 0)
            form.listedBytes[position] = bytes
            expectError(try alice.upload(form), 400)
        }
        let body = SmallFilesForm(files, by: alice, masterVersion: 0).body
        var conversation = try HTTPConversation(to: server.address)
        try conversation.send(alice.smallFilesCall().head(for: server.address, contentLength: body.count + 1_000))
        try conversation.send(body)
        conversation.finishSending()
        if let reply = try? conversation.reply() { #expect([200, 400].contains(reply.status)) }

        expectStaged(try alice.stage(SmallFilesForm(files, by: alice, masterVersion: 0)))
        #expect(try alice.commitStaged(masterVersion: 0) == 6)
    }

    @Test("The request as a whole is refused with another type, and beyond the announced limits [377]")
    func wholeRequest() throws {
        let alice = try server.signUpOwningUser()
        let limits = try server.call("GET", "HealthCheck").json?.uploadSmallFiles
        #expect(limits?.maximumFileBytes?.integer == 262_144)
        #expect(limits?.maximumBodyBytes?.integer == 16 << 20)
        let maximumFiles = Int(try #require(limits?.maximumFiles?.integer))
        let tooMany = (0...maximumFiles).map { TestFile("\($0)") }
        var call = alice.smallFilesCall()
        call.body = SmallFilesForm([TestFile("a")], by: alice, masterVersion: 0).body

        expectError(try alice.upload(SmallFilesForm(tooMany, by: alice, masterVersion: 0)), 400)
        expectStaged(try alice.stage(SmallFilesForm(Array(tooMany.dropLast()), by: alice, masterVersion: 0)))
        call.headers[call.headers.count - 1].value = "multipart/mixed; boundary=x"
        expectError(try server.address.perform(call), 415)
        call.headers.removeLast()
        expectError(try server.address.perform(call), 415)
        var conversation = try HTTPConversation(to: server.address)
        try conversation.send(alice.smallFilesCall().head(for: server.address, contentLength: 16 << 20 + 1))
        expectError(try conversation.reply(), 413)
        #expect(try alice.commitStaged(masterVersion: 0) == Int64(maximumFiles))
    }

    @Test("A member without write access, and a person who is not a member, are refused before the body")
    func rights() throws {
        let alice = try server.signUpOwningUser()
        let reader = try alice.newMember(.read, provider: .google)
        var stranger = try server.signUpOwningUser()
        stranger.group = alice.group
        let form = SmallFilesForm([TestFile("a")], by: alice, masterVersion: 1)

        expectError(try reader.upload(form), 409)
        expectError(try stranger.upload(form), 410, goneReason: "userRemoved")
    }

    @Test("The request that completes a batch commits it")
    func batch() throws {
        let alice = try server.signUpOwningUser()
        let files = Self.files(5)
        var form = SmallFilesForm(files, by: alice, masterVersion: 0)
        let batch = UUID().uuidString
        for position in form.files.indices {
            form.files[position].parameters["batchUUID"] = batch
            form.files[position].parameters["batchCount"] = "5"
        }

        let results = try alice.stage(form)

        #expect(results.map { $0.message?.committedMasterVersion?.integer } == [1, 1, 1, 1, 1])
        #expect(try alice.index().fileUUIDs == Set(files.map(\.uuid)))
        #expect(try alice.stage(form).allSatisfy { $0.message?.committedMasterVersion?.integer == 1 })
    }
}

extension PrivateStackTests {
    @Suite("Many small files and a slow or failing storage")
    final class SmallFileFailureTests: Sendable {
        let server: TestServer

        init() throws {
            server = try TestServer.withFaults()
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        @Test("The storage's delays do not add up")
        func overlap() async throws {
            let alice = try await server.signUpSettledUser()
            var delay = SandboxFault(pathPrefix: CloudFailureTests.uploads)
            delay.latencyMilliseconds = 400
            try server.sandbox.inject(delay)
            let form = SmallFilesForm((0..<32).map { TestFile("\($0)") }, by: alice, masterVersion: 0)

            let begin = ContinuousClock.now
            let results = try await Threads.run { [alice] in try alice.stage(form) }

            #expect(results.allSatisfy { $0.status?.integer == 200 }, "\(results)")
            // One after the other they would take at least 12.8 s, eight at a time 1.6 s.
            #expect(ContinuousClock.now - begin < .seconds(10))
        }

        @Test("A file that the storage refuses fails alone, and can be sent again")
        func oneFails() async throws {
            let alice = try await server.signUpSettledUser()
            let files = (0..<8).map { TestFile("\($0)") }
            let form = SmallFilesForm(files, by: alice, masterVersion: 0)
            var full = SandboxFault(pathPrefix: CloudFailureTests.uploads, status: 403, times: 1)
            full.skip = 3
            full.reason = "storageQuotaExceeded"
            try server.sandbox.inject(full)

            let results = try await Threads.run { [alice] in try alice.stage(form) }

            #expect(results.compactMap { $0.error?.code?.text } == ["cloud_quota_exceeded"])
            #expect(try alice.stagedUploads().count == 7)
            try server.sandbox.clearFaults()
            #expect(try alice.stage(form).allSatisfy { $0.status?.integer == 200 })
            #expect(try alice.commitStaged(masterVersion: 0) == 8)
            try await eventually("each file has one object") {
                try files.allSatisfy { try alice.stored($0).count == 1 }
            }
        }
    }
}
