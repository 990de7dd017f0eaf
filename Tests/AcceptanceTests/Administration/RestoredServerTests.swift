import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// The database is restored from a backup, while devices and storages keep their newer state.
    @Suite("A server restored to an earlier state")
    struct RestoredServerTests {
        private static let past = Task { try await ForgottenTime() }

        // MARK: Marks of a restoration

        @Test("Each restoration gives all groups a new mark in Index, with and without a list of files [366]")
        func marks() async throws {
            let past = try await Self.past.value
            let marks = try past.people.values.map { try $0.user.groups().group($0.user.group)?.restoreMark?.text }

            #expect(past.marks.count == 3 && past.marks[0] == nil)
            #expect(past.marks[1] != nil && past.marks[2] != nil && past.marks[1] != past.marks[2])
            #expect((1...36).contains(past.marks[2]?.utf8.count ?? 0))
            #expect(marks.allSatisfy { $0 != nil && $0 == marks[0] })
        }

        @Test("since = restoredMasterVersion lists exactly the files changed on the restored server [372]")
        func changesSince() async throws {
            let since = try await Self.past.value.since

            #expect(since.restored.masterVersion == since.masterVersionOfBackup)
            #expect(since.restored.restoredMasterVersion == since.masterVersionOfBackup)
            // Later commits do not change it.
            #expect(since.changed.restoredMasterVersion == since.masterVersionOfBackup)
            #expect(since.changed.masterVersion?.integer == (since.masterVersionOfBackup?.integer ?? 0) + 2)
            #expect(since.list.since == since.masterVersionOfBackup)
            #expect(since.list.fileIndex?.array?.compactMap { $0.fileUUID?.text } == since.files.map(\.uuid))
        }

        @Test("A new mark invalidates the ETags of Index [367]")
        func tags() async throws {
            let past = try await Self.past.value
            let user = try #require(past.people[.google]).user
            func index(_ tag: String) throws -> HTTPReply {
                try past.server.call(
                    "GET", "Index", ["sharingGroupUUID": user.group], headers: user.headers + [("If-None-Match", tag)])
            }
            let tag = try #require(index("\"none\"").values(of: "etag").first)
            #expect(try index(tag).status == 304)

            let report = try past.tool.json("backup", "mark-restored", "2026-11-25T03:00:00Z")

            let reply = try index(tag)
            #expect(reply.status == 200)
            #expect(reply.values(of: "etag") != [tag])
            let mark = try #require(report.restoreMark?.text)
            #expect(IndexMark(reply, user.group).text == mark && mark != past.marks[2])
            #expect(report.groups?.integer == Int64(past.people.count))
            let details = try past.tool.json("groups", "show", user.group)
            #expect(details.restoreMark?.text == mark && details.restoredMasterVersion?.integer != nil)
            #expect(try past.tool.run("groups", "show", user.group).output.contains(mark))
        }

        @Test("backup mark-restored rejects invalid and future times, and changes nothing")
        func notATime() async throws {
            let past = try await Self.past.value
            let user = try #require(past.people[.dropbox]).user
            let before = try user.groups().group(user.group)?.restoreMark

            #expect(try past.tool.run("backup", "mark-restored", "yesterday").status == 64)
            #expect(try past.tool.run("backup", "mark-restored", "2099-01-01 00:00:00").status == 1)

            #expect(before != nil)
            #expect(try user.groups().group(user.group)?.restoreMark == before)
        }

        @Test("A group created after the restoration has no mark [366]")
        func newGroup() async throws {
            let past = try await Self.past.value
            let user = try past.server.signUpOwningUser()

            let group = try #require(try user.groups().group(user.group))

            #expect(group.restoreMark == nil && group.restoredMasterVersion == nil)
        }

        // MARK: Uploads by devices with newer state

        @Test(
            "The same device can upload a lost file again, although its object exists [368]",
            arguments: ForgottenTime.Place.allCases)
        func sameDevice(place: ForgottenTime.Place) async throws {
            let person = try await person(at: place)
            let file = person.forgotten[0]
            #expect(try person.user.index().file(file) == nil)
            #expect(try person.objects(of: file).count == 1)

            try person.publish(file)

            try person.expectContents(of: file)
            // Drive allows several files with one name; the other storages reuse the object.
            #expect(
                try person.objects(of: file) == Array(repeating: person.name(file), count: place == .google ? 2 : 1))
        }

        @Test(
            "Another device can upload a lost file again, and the first device's object is kept [368]",
            arguments: ForgottenTime.Place.allCases)
        func otherDevice(place: ForgottenTime.Place) async throws {
            let person = try await person(at: place)
            let (file, other) = (person.forgotten[1], person.onAnotherDevice())

            try other.publish(file)

            try person.expectContents(of: file)
            #expect(try person.objects(of: file) == [person.name(file), other.name(file)].sorted())
        }

        @Test(
            "An upload staged at the backup and committed since reuses its object when it is sent again [368]",
            arguments: ForgottenTime.Place.allCases)
        func staged(place: ForgottenTime.Place) async throws {
            let person = try await person(at: place)
            let (file, other) = (person.staged, person.onAnotherDevice(person.stagingDevice))
            #expect(try other.user.index().file(file) == nil)
            #expect(try other.user.stagedUploads().map { $0.fileUUID?.text } == [file.uuid])

            try other.publish(file)

            try person.expectContents(of: file)
            #expect(try person.objects(of: file) == [other.name(file)])
        }

        @Test(
            "The next version can be uploaded, although objects of lost next versions exist [369]",
            arguments: ForgottenTime.Place.allCases)
        func nextVersion(place: ForgottenTime.Place) async throws {
            let person = try await person(at: place)
            let file = person.replaced
            // The device has version 2; for the server, it follows version 0.
            let next = file.next("version 2, as the device has it")
            #expect(try person.user.index().file(file)?.fileVersion?.integer == 0)

            try person.publish(next)
            try person.expectContents(of: next)

            let later = next.next("version 2, after the restoration")
            try person.publish(later)
            try person.expectContents(of: later)
            // The server deletes objects that it replaced after the restoration. Objects that the server no longer
            // knows remain alongside the new one, which has a different name, or in Drive the same name.
            try await eventually("only forgotten objects and the current one exist") {
                let objects = try person.objects(of: file)
                return objects.count == 3 && !objects.contains(person.name(file))
                    && objects.contains(person.name(next)) && objects.contains(person.name(later))
            }
        }

        @Test(
            "A version missing from the storage is reported as gone until a device uploads the next one [370]",
            arguments: ForgottenTime.Place.allCases)
        func gone(place: ForgottenTime.Place) async throws {
            let person = try await person(at: place)
            let version = try #require(try person.user.index().masterVersion)

            let reply = try person.user.download(person.lost, masterVersion: version)
            #expect(reply.status == 200 && reply.body.isEmpty)
            #expect(reply.messageParameters?.gone?.text == "fileRemovedOrRenamed", "\(reply)")

            let next = person.lost.next("what a device has")
            try person.onAnotherDevice().publish(next)
            try person.expectContents(of: next)
        }

        @Test(
            "A file that reappeared can be deleted again, although its object is gone [370]",
            arguments: ForgottenTime.Place.allCases)
        func deletion(place: ForgottenTime.Place) async throws {
            let person = try await person(at: place)
            #expect(try person.user.index().file(person.deleted)?.deleted == .bool(false))
            let version = try #require(try person.user.index().masterVersion)

            try person.user.deleteAndCommit(person.deleted, masterVersion: version)

            #expect(try person.user.index().file(person.deleted)?.deleted == .bool(true))
            try await eventually("no work for the file is left") {
                try person.user.server.askDatabase(
                    "SELECT COUNT(*) FROM outbox WHERE object_name LIKE '%\(person.deleted.uuid)%'") == "0"
            }
        }

        @Test("fsck keeps objects lost from the database regardless of their age, and a later upload reuses them [371]")
        func repair() async throws {
            let past = try await Self.past.value
            let person = try #require(past.people[.dropbox])
            let file = TestFile("old").stored(at: .dropbox)
            let owner = String(person.user.userID)
            // The backup was three days old, and the object was stored two days ago.
            _ = try past.server.askDatabase(
                "UPDATE restorations SET backup_taken_at = backup_taken_at - INTERVAL 3 DAY")
            try past.server.sandbox.setClock(offsetSeconds: -2 * 86_400)
            defer { try? past.server.sandbox.setClock(offsetSeconds: 0) }
            try past.server.sandbox.store(file.contents, as: person.name(file), in: person.user.account)
            try past.server.sandbox.setClock(offsetSeconds: 0)

            let output = try past.tool.run("fsck", "--clouds", "--json", "--owner", owner, "--repair").output
            let report = try #require(JSONValue(Array(output.utf8)), "\(output)")

            let codes = report.repairs?.array?.compactMap { $0.code?.text } ?? []
            #expect(!codes.contains("objectOrphaned"), "\(output)")
            let details = (report.findings?.array ?? []).filter { $0.code?.text == "objectUnknown" }
                .flatMap { $0.rows?.array ?? [] }.compactMap { $0.detail?.text }
            #expect(
                details.contains { $0.contains(file.uuid) && $0.contains("between a backup and its restoration") },
                "\(output)")
            #expect(try person.objects(of: file) == [person.name(file)])
            try person.publish(file)
            try person.expectContents(of: file)
        }

        private func person(at place: ForgottenTime.Place) async throws -> ForgottenTime.Person {
            try #require(try await Self.past.value.people[place])
        }
    }
}

/// The restore mark of one group in a reply.
private struct IndexMark {
    let text: String?

    init(_ reply: HTTPReply, _ group: String) {
        text = reply.json?.sharingGroups?.array?.first { $0.sharingGroupUUID?.text == group }?.restoreMark?.text
    }
}

/// A stack with one user per kind of storage, who have made changes between its backup and its restoration.
struct ForgottenTime: Sendable {
    enum Place: String, CaseIterable, Sendable {
        case google, dropbox, microsoft, webdav, s3

        var sandbox: SandboxProvider? { SandboxProvider(rawValue: rawValue) }
    }

    struct Person: Sendable {
        var user: TestUser
        let place: Place
        /// Uploaded after the backup.
        let forgotten: [TestFile]
        /// Staged by ``stagingDevice`` before the backup, and committed afterwards.
        let staged: TestFile
        let stagingDevice = UUID().uuidString
        /// Version 0 at the backup, then versions 1 and 2, whose objects still exist.
        let replaced: TestFile
        /// Version 0 at the backup, and replaced afterwards; its object is gone.
        let lost: TestFile
        /// Deleted after the backup; its object is gone.
        let deleted: TestFile

        init(_ user: TestUser, at place: Place) {
            self.user = user
            self.place = place
            func file(_ text: String) -> TestFile { TestFile(text).stored(at: place.sandbox ?? .google) }
            forgotten = (0..<2).map { file("forgotten \($0)") }
            staged = file("staged")
            (replaced, lost, deleted) = (file("replaced"), file("lost"), file("deleted"))
        }

        func onAnotherDevice(_ device: String = UUID().uuidString) -> Person {
            var copy = self
            copy.user.device = device
            return copy
        }

        func name(_ file: TestFile) -> String { file.cloudName(device: user.device) }

        /// The names of a file's objects in the storage.
        func objects(of file: TestFile) throws -> [String] {
            guard place == .s3 else { return try user.stored(file).map(\.name).sorted() }
            let names = try S3Bucket(.s3Moto).objects(behind: user.account.id + "/").map(\.name)
            return names.filter { $0.hasPrefix(file.uuid) }.sorted()
        }

        func publish(_ file: TestFile) throws {
            try user.publish(file, masterVersion: try #require(try user.index().masterVersion))
        }

        /// Expects that every device can download the file.
        func expectContents(of file: TestFile, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let version = try #require(try user.index().masterVersion)
            let reply = try user.onAnotherDevice().download(file, masterVersion: version)
            #expect(reply.status == 200 && reply.body == file.contents, "\(reply)", sourceLocation: sourceLocation)
            #expect(reply.messageParameters?.checkSum?.text == file.checkSum, sourceLocation: sourceLocation)
            #expect(reply.messageParameters?.contentsChanged?.bool == false, sourceLocation: sourceLocation)
        }
    }

    /// The changes in one group since the second restoration, as Index reports them.
    struct Since: Sendable {
        let masterVersionOfBackup: JSONValue?
        /// The group's entry in Index right after the restoration.
        let restored: JSONValue
        /// The files changed after the restoration, in this order: one of the backup, and a new one.
        let files: [TestFile]
        /// The group's entry in Index after these changes.
        let changed: JSONValue
        /// Index with that entry's `restoredMasterVersion` as `since`.
        let list: JSONValue
    }

    let server: TestServer
    let tool: OperatorTool
    let people: [Place: Person]
    let since: Since
    /// The mark of a group before the first restoration, after it, and after the second one.
    let marks: [String?]

    init() async throws {
        let overrides = """
            {
                "allowedSignInTypes": {"Google": true, "Microsoft": true, "Dropbox": true, "WebDAV": true, "S3": true},
                "s3": {"endpoints": ["https://moto.sandbox.test"]}
            }
            """
        server = try TestServer(PrivateStack("restored-server", responders: 1, overrides: overrides))
        tool = try OperatorTool(server)
        let folder = try ScratchFolder("restored-server")
        try server.sandbox.addBackend(host: "moto.sandbox.test", port: try StorageServerProcess.of(.s3Moto).port)
        var people: [Place: Person] = [:]
        for place in Place.allCases {
            let user =
                if let provider = place.sandbox { try server.signUpOwningUser(provider) } else {
                    try server.signUp(
                        SandboxAccount(inBucketAt: "https://moto.sandbox.test", prefix: UUID().uuidString))
                }
            people[place] = Person(user, at: place)
        }
        for person in people.values {
            for file in [person.replaced, person.lost, person.deleted] { try person.publish(file) }
            let other = person.onAnotherDevice(person.stagingDevice)
            try other.user.stage(person.staged, masterVersion: try #require(try other.user.index().masterVersion))
        }
        let first = try #require(people[.google]).user
        func mark() throws -> String? { try first.groups().group(first.group)?.restoreMark?.text }
        var marks = [try mark()]
        let changed = TestFile("of the backup")
        try first.publish(changed, masterVersion: try #require(try first.index().masterVersion))
        let masterVersionOfBackup = try first.index().json.masterVersion

        let backup = folder.url.appending(path: "backup.gz").path
        try tool.json("backup", "make", backup)
        for person in people.values {
            try person.onAnotherDevice(person.stagingDevice).publish(person.staged)
            for file in person.forgotten { try person.publish(file) }
            try person.publish(person.lost.next("newer"))
            let version = try #require(try person.user.index().masterVersion)
            try person.user.deleteAndCommit(person.deleted, masterVersion: version)
        }
        for person in people.values {
            try await eventually("replaced and deleted objects are removed") {
                try person.objects(of: person.deleted).isEmpty && person.objects(of: person.lost).count == 1
            }
        }
        // From now on no object is deleted, as with the usual lifetime of replaced versions.
        let jobs = try server.processes("syncd_jobs")
        for process in jobs { process.freeze() }
        defer { for process in jobs { process.thaw() } }
        for person in people.values {
            let newer = person.replaced.next("version 1, forgotten")
            try person.publish(newer)
            try person.publish(newer.next("version 2, as the device has it"))
        }
        for _ in 1...2 {
            try await Self.putBack(backup, server, tool, asks: first)
            marks.append(try mark())
        }
        withExtendedLifetime(folder) {}
        let restored = try #require(try first.groups().group(first.group))
        let files = [changed.next("changed on the restored server"), TestFile("created on the restored server")]
        for file in files { try first.publish(file, masterVersion: try #require(try first.index().masterVersion)) }
        let group = try #require(try first.groups().group(first.group))
        let version = try #require(group.restoredMasterVersion?.integer)
        let list = try first.call("GET", "Index", ["sharingGroupUUID": first.group, "since": String(version)]).json
        since = Since(
            masterVersionOfBackup: masterVersionOfBackup, restored: restored, files: files, changed: group,
            list: try #require(list))
        self.people = people
        self.marks = marks
    }

    /// Restores as the handbook describes: close the server, empty the database, restore, open the server.
    private static func putBack(
        _ backup: String, _ server: TestServer, _ tool: OperatorTool, asks user: TestUser
    ) async throws {
        try tool.json("maintenance", "on", "We are back soon.")
        try await eventually("the server is closed") { try user.call("GET", "Index").status == 503 }
        try server.dropAllTables()
        let report = try tool.json("backup", "restore", "--rows-only", backup)
        guard report.marks?.restoreMark?.text != nil else { throw NotEventually(expectation: "a mark in \(report)") }
        try tool.json("maintenance", "off")
        try await eventually("the server is open") { try user.call("GET", "Index").status == 200 }
    }
}
