import Foundation
import Synchronization
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Maintenance of a server in use")
    struct KeepingTests {
        /// Publishes new files, one per commit, until `isOver`; the group then has as many files as commits.
        private func write(_ user: TestUser, until isOver: @escaping @Sendable () -> Bool) throws -> Int64 {
            var version = try user.index().masterVersion ?? 0
            while !isOver() {
                try user.publish(TestFile("file \(version)"), masterVersion: version)
                version += 1
            }
            return version
        }

        @Test("A backup under load is consistent when restored on an empty host; fsck is clean, and clients continue")
        func backupUnderLoad() async throws {
            let server = try TestServer.toBreak()
            let tool = try OperatorTool(server)
            let users = try (0..<3).map { try server.signUpOwningUser(name: "Writer \($0)") }
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "syncserver-backup-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let backup = folder.appending(path: "b.gz").path
            let isOver = Atomic(false)

            // The backup begins after each of three people has committed, and ends before any of them stops.
            async let versions = Threads.run(3) { number in
                try write(users[number]) { isOver.load(ordering: .relaxed) }
            }
            try await eventually("every writer has committed") {
                try users.allSatisfy { try ($0.index().masterVersion ?? 0) >= 2 }
            }
            let before = try users.map { try $0.index().masterVersion ?? 0 }
            let made = try tool.json("backup", "make", backup)
            try await eventually("every writer has committed after the backup") {
                try zip(users, before).allSatisfy { try ($0.index().masterVersion ?? 0) >= $1 + 1 }
            }
            isOver.store(true, ordering: .relaxed)
            let final = try await versions

            // Another host with its own nginx, responders and empty database; the clouds and the sealing key are the
            // same.
            let key = try #require(try sealingKey(of: server))
            let overrides = """
                {
                    "sealing": {"keyFile": "\(key)"},
                    "sandbox": {
                        "connectTo": "127.0.0.1:\(try server.environment.value("SANDBOX_TLS_PORT"))",
                        "caFile": "\(server.certificateAuthorityFile)"
                    }
                }
                """
            let other = try TestServer(PrivateStack("restored", responders: 1, overrides: overrides))
            let otherTool = try OperatorTool(other)
            let restored = try otherTool.json("backup", "restore", backup)
            let refused = try otherTool.run("backup", "restore", backup)
            let fsck = try otherTool.run("fsck")

            #expect(restored.manifest == made.manifest)
            #expect(refused.status == 1 && refused.output.contains("not empty"))
            #expect(fsck.status == 0, "\(fsck.output)")
            for (number, user) in users.enumerated() {
                let there = user.movedTo(other)
                let index = try there.index()
                let version = try #require(index.masterVersion)
                #expect(version >= before[number] && version <= final[number])
                #expect(Int64(index.files.count) == version, "the backup is not of a single moment")
                // The server serves existing files with tokens from the backup, and the phone commits. This also
                // commits an upload that was staged at the moment of the backup.
                let file = TestFile("written on the restored host")
                try there.stage(file, masterVersion: version)
                #expect((1...2).contains(try there.commitStaged(masterVersion: version)))
                expectDownload(
                    try there.onAnotherDevice().download(file, masterVersion: version + 1), of: file)
            }
            // Objects uploaded after the moment of the backup are in the clouds without a row; fsck reports them and
            // nothing else.
            let examined = try otherTool.run("fsck", "--clouds", "--json")
            let clouds = try #require(JSONValue(Array(examined.output.utf8)))
            let kinds = Set(clouds.findings?.array?.compactMap { $0.code?.text } ?? ["no findings"])
            #expect(kinds.isSubset(of: ["objectUnknown"]), "\(kinds)")
        }

        private func sealingKey(of server: TestServer) throws -> String? {
            let file = try server.environment.value("CONFIG_FILE")
            return JSONValue(Array(try Data(contentsOf: URL(filePath: file))))?.sealing?.keyFile?.text
        }

        @Test("Sealing keys can be rotated under load; afterwards the former key is no longer needed")
        func rotation() async throws {
            let stack = try PrivateStack("rotation", responders: 1)
            let server = try TestServer(stack)
            let tool = try OperatorTool(server)
            let users = try (0..<3).map { try server.signUpOwningUser(name: "Writer \($0)") }
            let formerKey = try #require(try sealingKey(of: server))
            let newKey = stack.folder.appending(path: "new-key").path
            let made = try tool.runPlain("keys", "generate")
            try Data(made.output.utf8).write(to: URL(filePath: newKey))
            try override(stack, #"{"sealing": {"keyFile": "\#(newKey)", "formerKeyFiles": ["\#(formerKey)"]}}"#)
            let isOver = Atomic(false)

            async let versions = Threads.run(3) { number in
                try write(users[number]) { isOver.load(ordering: .relaxed) }
            }
            try await eventually("every writer has written") {
                try users.allSatisfy { try ($0.index().masterVersion ?? 0) >= 1 }
            }
            let report = try tool.json("keys", "reseal")
            let version = try users[0].index().masterVersion ?? 0
            try await eventually("the writers continue") { try (users[0].index().masterVersion ?? 0) > version }
            isOver.store(true, ordering: .relaxed)
            _ = try await versions
            try override(stack, #"{"sealing": {"keyFile": "\#(newKey)"}}"#)

            #expect((report.resealed?.integer ?? 0) >= 3)
            #expect(report.unreadable == .array([]))
            #expect(try tool.run("fsck").status == 0)
            for user in users {
                let version = try #require(try user.index().masterVersion)
                try user.publish(TestFile("with the new key alone"), masterVersion: version)
            }
        }

        /// Changes the stack's configuration and restarts its processes.
        private func override(_ stack: PrivateStack, _ json: String) throws {
            try Data(json.utf8).write(to: stack.folder.appending(path: "syncd-overrides.json"))
            try stack.restore()
        }
    }
}
