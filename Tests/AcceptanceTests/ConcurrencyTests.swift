import Foundation
import TestSupport
import Testing

@Suite("Simultaneous requests")
struct ConcurrencyTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Two simultaneous identical uploads succeed, with one row, one object and the right bytes [131] [F5]")
    func identicalUploads() async throws {
        let alice = try server.signUpOwningUser()
        for count in [10, 800_000] {
            let file = TestFile(randomBytes: count)
            let masterVersion = try #require(try alice.index().masterVersion)

            let replies = try await Threads.run(2) { _ in try alice.upload(file, masterVersion: masterVersion) }

            for reply in replies { #expect(reply.status == 200, "\(reply)") }
            #expect(try alice.stagedUploads().count == 1)
            #expect(try alice.commitStaged(masterVersion: masterVersion) == 1)
            expectDownload(try alice.download(file, masterVersion: masterVersion + 1), of: file)
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
            expectDownload(try alice.download(file, masterVersion: masterVersion + 1), of: file)
        }
    }

    @Test("Of simultaneous uploads with different contents for the same version, one is staged completely")
    func differentUploads() async throws {
        let alice = try server.signUpOwningUser()
        let uuid = UUID().uuidString
        let files = (0..<4).map { _ in
            var file = TestFile(randomBytes: 200_000)
            file.uuid = uuid
            return file
        }

        let replies = try await Threads.run(4) { try alice.upload(files[$0], masterVersion: 0) }

        for reply in replies { #expect([200, 409, 429].contains(reply.status), "\(reply)") }
        #expect(replies.contains { $0.status == 200 })
        #expect(try alice.commitStaged(masterVersion: 0) == 1)
        let reply = try alice.download(files[0], masterVersion: 1)
        #expect(files.contains { $0.contents == reply.body })
        #expect(reply.messageParameters?.checkSum?.text == Checksum.md5(reply.body))
        try await eventually("the other uploads' objects are deleted") {
            try alice.stored(files[0]).map(\.checkSum) == [Checksum.md5(reply.body)]
        }
    }

    @Test("Of two simultaneous commits exactly one succeeds, and the master version is incremented by one [212]")
    func twoCommits() async throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        for masterVersion in Int64(0)..<5 {
            try alice.stage(TestFile("alice \(masterVersion)"), masterVersion: masterVersion)
            try phone.stage(TestFile("phone \(masterVersion)"), masterVersion: masterVersion)

            let replies = try await Threads.run(2) { try [alice, phone][$0].commit(masterVersion: masterVersion) }

            #expect(replies.filter { $0.json?.numberUploadsTransferred != nil }.count == 1, "\(replies)")
            let stale = replies.filter { $0.json == .object(["masterVersionUpdate": .integer(masterVersion + 1)]) }
            #expect(stale.count == 1, "\(replies)")
            #expect(try alice.index().masterVersion == masterVersion + 1)
        }
    }

    @Test("Two simultaneous identical commits are applied once [211]")
    func sameCommitTwice() async throws {
        let alice = try server.signUpOwningUser()
        try alice.stage(TestFile(), masterVersion: 0)

        let replies = try await Threads.run(2) { _ in try alice.commit(masterVersion: 0) }

        #expect(replies.allSatisfy { $0.status == 200 }, "\(replies)")
        #expect(replies.contains { $0.json == .object(["numberUploadsTransferred": .integer(1)]) })
        let index = try alice.index()
        #expect(index.masterVersion == 1 && index.files.count == 1)
    }

    @Test("8 writers commit 50 files each to one group: nothing is lost, and every version is one commit")
    func manyWriters() async throws {
        let alice = try server.signUpOwningUser()
        var people = [alice]
        for number in 1..<4 { people.append(try alice.newMember(.write, name: "Writer \(number)")) }
        let writers = people + people.map { $0.onAnotherDevice() }
        let start = try #require(try alice.index().masterVersion)

        let work = try await Threads.run(writers.count) { number in
            var writer = Writer(user: writers[number], group: alice.group, masterVersion: start)
            for count in 0..<50 { try writer.commit(TestFile("file \(count) of writer \(number)")) }
            return writer.committed
        }

        let index = try alice.index()
        let files = work.flatMap { $0 }
        #expect(files.count == 400)
        #expect(index.masterVersion == start + 400)
        #expect(index.fileUUIDs == Set(files.map(\.uuid)))
        for file in files.shuffled().prefix(20) {
            expectDownload(try alice.download(file, masterVersion: start + 400), of: file)
        }
    }
}

/// A client in a group with other writers. After a stale reply, it adopts the current version and retries.
private struct Writer {
    let user: TestUser
    let group: String
    var masterVersion: Int64
    private(set) var committed: [TestFile] = []

    init(user: TestUser, group: String, masterVersion: Int64) {
        self.user = user
        self.group = group
        self.masterVersion = masterVersion
    }

    mutating func commit(_ file: TestFile) throws {
        for _ in 0..<2_000 {
            let upload = try user.upload(file, masterVersion: masterVersion, group: group)
            // A busy storage or too many simultaneous requests cause a retryable error.
            if upload.json?.retryable?.bool == true { continue }
            guard upload.status == 200 else { throw UnexpectedReply("UploadFile", upload) }
            if let current = upload.masterVersionUpdate {
                masterVersion = current
                continue
            }
            let commit = try user.commit(masterVersion: masterVersion, group: group)
            if commit.json?.retryable?.bool == true { continue }
            guard commit.status == 200 else { throw UnexpectedReply("DoneUploads", commit) }
            if let current = commit.masterVersionUpdate {
                masterVersion = current
                continue
            }
            guard commit.json?.numberUploadsTransferred == .integer(1) else {
                throw UnexpectedReply("DoneUploads", commit)
            }
            masterVersion += 1
            committed.append(file)
            return
        }
        throw NotEventually(expectation: "a commit among other writers")
    }
}
