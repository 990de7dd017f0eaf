import TestSupport
import Testing

@Suite("syncctl files explain, for a file that vanished from its owner's storage")
struct VanishedFileTests {
    let server: TestServer
    let tool: OperatorTool

    init() throws {
        server = try TestServer.shared()
        tool = try OperatorTool(server)
    }

    /// Bob's photo in Alice's storage.
    private struct Photo {
        let alice: TestUser
        let bob: TestUser
        let file: TestFile
        let masterVersion: Int64

        init(_ server: TestServer) throws {
            alice = try server.signUpOwningUser(name: "Alice")
            bob = try alice.newMember(.write, name: "Bob")
            file = TestFile("a photo")
            let version = try #require(try alice.index().masterVersion)
            try bob.publish(file, masterVersion: version)
            masterVersion = version + 1
        }

        var name: String { file.cloudName(device: bob.device) }
    }

    private func explain(_ photo: Photo, _ options: String...) throws -> JSONValue {
        let output = try tool.run(["files", "explain", photo.file.uuid, "--json"] + options)
        #expect(output.status == 0, "\(output.output)")
        return try #require(JSONValue(Array(output.output.utf8)))
    }

    private func finding(_ story: JSONValue) -> String? { story.clouds?.array?.first?.finding?.text }

    private func sentences(_ story: JSONValue) -> String {
        (story.sentences?.array ?? []).compactMap(\.text).joined(separator: "\n")
    }

    @Test("For an object deleted there: its absence, its owner, when phones learned of it, and remedies")
    func deletedThere() throws {
        let photo = try Photo(server)
        let before = try explain(photo)
        try server.sandbox.delete(photo.name, in: photo.alice.account)

        let unnoticed = try explain(photo)
        let told = try (1...2).map { _ in try photo.bob.download(photo.file, masterVersion: photo.masterVersion) }
        let after = try explain(photo)

        #expect(finding(before) == "present")
        #expect(before.remedies == .array([]))
        #expect(finding(unnoticed) == "missing")
        #expect(unnoticed.evidence?.committed?.array?.first?.gone == .array([]))
        for reply in told { #expect(reply.messageParameters?.gone?.text == "fileRemovedOrRenamed", "\(reply)") }
        let gone = after.evidence?.committed?.array?.first?.gone?.array?.first
        #expect(gone?.reason?.text == "fileRemovedOrRenamed")
        #expect(gone?.timesTold?.integer == 2)
        #expect(gone?.lastRequestID?.text?.isEmpty == false)
        #expect(
            sentences(after).contains("the server found that the contents were gone when a phone requested version 0"))
        #expect(sentences(after).contains("Alice (Google, user \(photo.alice.userID)), or another person"))
        #expect(sentences(after).contains("those that download it get the reply gone: fileRemovedOrRenamed."))
        #expect(after.remedies?.array?.first?.text?.contains("looks for \(photo.name) in the bin") == true)
    }

    @Test("For an object in the bin: it can still be downloaded, and the owner should restore it")
    func inTheBin() throws {
        let photo = try Photo(server)
        try server.sandbox.delete(photo.name, in: photo.alice.account, toTrash: true)

        let story = try explain(photo)

        #expect(finding(story) == "inBin")
        #expect(story.remedies?.array?.first?.text?.contains("restores \(photo.name) from the bin") == true)
    }

    @Test("For a storage that rejects the server: its owner must sign in again")
    func refused() throws {
        let photo = try Photo(server)
        try server.sandbox.revoke(photo.alice.account)

        let story = try explain(photo)

        #expect(finding(story) == "refused")
        #expect(sentences(story).contains("denies this server access"))
        #expect(story.remedies?.array?.first?.text?.contains("signs in again") == true)
    }

    @Test("An expired token is renewed for the check, as for a phone's request")
    func renewal() throws {
        let photo = try Photo(server)
        try server.sandbox.expireAccessTokens(of: photo.alice.account)

        #expect(finding(try explain(photo)) == "present")
    }

    @Test("For a file deleted by a member: who deleted it, how long it can be rescued, and how to restore it")
    func deletedHere() throws {
        let photo = try Photo(server)
        try photo.bob.deleteAndCommit(photo.file, masterVersion: photo.masterVersion)

        let story = try explain(photo)

        #expect(sentences(story).contains("committed by Bob (Facebook, user \(photo.bob.userID))"))
        let remedies = (story.remedies?.array ?? []).compactMap(\.text)
        #expect(remedies.count == 2)
        #expect(remedies.last?.contains("undeletes the file") == true)
    }
}

extension PrivateStackTests {
    @Suite("syncctl files explain while the storage does not respond")
    struct HangingExplanationTests {
        @Test("By its deadline, it reports the database's information, and that the storage could not be asked")
        func hanging() throws {
            let stack = try PrivateStack("explain", responders: 1)
            let server = try TestServer(stack)
            let tool = try OperatorTool(server)
            let alice = try server.signUpOwningUser(name: "Alice")
            let file = TestFile("out of reach")
            try alice.publish(file, masterVersion: try #require(try alice.index().masterVersion))
            var fault = SandboxFault(host: "www.googleapis.com")
            fault.latencyMilliseconds = 60_000
            try server.sandbox.inject(fault)

            let start = ContinuousClock.now
            let story = try tool.json("files", "explain", file.uuid, "--deadline", "2")
            let took = start.duration(to: .now)
            let silent = try tool.json("files", "explain", file.uuid, "--no-clouds")

            #expect(took < .seconds(8), "\(took)")
            #expect(story.clouds?.array?.first?.finding?.text == "unavailable")
            let sentences = (story.sentences?.array ?? []).compactMap(\.text).joined(separator: "\n")
            #expect(sentences.contains("uploaded version 0"))
            #expect(
                sentences.contains("could not be asked (timed out), so it is unknown whether the contents exist"))
            #expect(silent.clouds == nil)
        }
    }
}
