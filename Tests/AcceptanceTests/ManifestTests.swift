import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// The manifests in owners' folders, as the programs see them that need no server.
    @Suite("Manifests in owners' folders")
    final class ManifestTests: Sendable {
        private static let stack = Result {
            try TestServer(
                PrivateStack("manifests", responders: 1, overrides: #"{"manifests": {"intervalSeconds": 1}}"#))
        }
        private static let storages: [SandboxProvider] = [.google, .dropbox, .microsoft, .webdav]

        private let server: TestServer

        init() throws {
            server = try Self.stack.get()
            try server.sandbox.clearFaults()
        }

        private func manifests(of user: TestUser, group: String? = nil) throws -> [String] {
            try server.sandbox.files(of: user.account).map(\.name)
                .filter { $0.hasPrefix(group ?? user.group) && $0.hasSuffix(".manifest.gz") }.sorted()
        }

        /// The master version that the newest manifest in the database states; nil if there is none.
        private func stated(_ user: TestUser) throws -> Int64? {
            Int64(
                try server.askDatabase(
                    "SELECT m.master_version FROM manifests m JOIN sharing_groups g USING (sharing_group_id)"
                        + " WHERE g.sharing_group_uuid = '\(user.group)' AND m.owning_user_id = \(user.userID)"))
        }

        private func waitForManifest(of user: TestUser, stating version: Int64) async throws {
            try await eventually("the manifest states version \(version)", within: .seconds(60)) {
                try stated(user) == version
            }
        }

        /// Runs `syncdir read-manifest` on a copy of a folder.
        private func read(_ user: TestUser, key: String? = nil) throws -> (
            report: JSONValue, output: URL, status: Int32
        ) {
            let root = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID().uuidString)")
            let (folder, output) = (root.appending(path: "folder"), root.appending(path: "output"))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for file in try server.sandbox.files(of: user.account) {
                // The manifest before the previous one may be deleted at any moment.
                guard let bytes = try server.sandbox.contents(of: file.name, in: user.account) else { continue }
                try Data(bytes).write(to: folder.appending(path: file.name))
            }
            // Next to this process's executable.
            let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appending(path: "syncdir").path
            let command = try Command(
                program,
                ["read-manifest", folder.path, output.path, "--json"] + (key.map { ["--key", $0] } ?? []))
            let report = try #require(
                command.output.split(separator: "\n").first.flatMap { JSONValue(Array($0.utf8)) },
                "\(command.output)")
            return (report, output, command.status)
        }

        private func publishedKey() throws -> String {
            let reply = try server.call("GET", ".well-known/syncserver-manifest-keys")
            #expect(reply.status == 200 && reply.values(of: "content-type") == ["application/json"])
            return try #require(reply.json?.keys?.array?.first?.key?.text)
        }

        @Test("A commit is followed by a manifest from which the files can be restored by name", arguments: storages)
        func life(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider, groupName: "Norway")
            let bob = try server.signUpInvitedUser(alice.invite(), name: "Bob")
            let note = TestFile("a note").stored(at: provider)
            let picture = TestFile("no name").stored(at: provider)
            let version = try #require(try alice.index().masterVersion)
            try alice.publish(
                note, masterVersion: version,
                metadata: TestMetadata(0, #"{"path":"notes/one.txt"}"#))
            try bob.publish(picture, masterVersion: version + 1)
            try await waitForManifest(of: alice, stating: version + 2)

            let (report, output, status) = try read(alice, key: publishedKey())
            let group = try #require(report.groups?.array?.first)
            #expect(status == 0, "\(report)")
            #expect(group.group?.text == alice.group && group.name?.text == "Norway")
            #expect(group.hasExpectedKey?.bool == true)
            #expect(group.members?.array?.compactMap(\.text).contains("Bob") == true)
            #expect(group.files?.array?.allSatisfy { $0.outcome?.text == "written" } == true, "\(group)")
            #expect(try String(contentsOf: output.appending(path: "Norway/notes/one.txt"), encoding: .utf8) == "a note")
            #expect(try FileManager.default.contentsOfDirectory(atPath: output.path + "/Norway").count == 2)

            let tool = try OperatorTool(server)
            #expect(try tool.run("fsck", "--manifests").output.contains("clean"))
            let folder = try tool.run("fsck", "--clouds", "--json", "--owner", "\(alice.userID)").output
            #expect(!folder.contains("objectForeign"), "\(folder)")

            // Later manifests do not contain a member who has left; the previous manifest is kept.
            #expect(try bob.removeAccount().status == 200)
            try await waitForManifest(of: alice, stating: version + 3)
            // An object that two processes wrote at the same time may stay until its lease expires.
            try await eventually("two manifests are kept", within: .seconds(150)) {
                try manifests(of: alice).count == 2
            }
            let members = try read(alice).report.groups?.array?.first?.members?.array?.compactMap(\.text)
            #expect(members?.contains("Bob") == false)

            // When the group is removed, its manifests are deleted, and the files stay.
            #expect(try alice.removeGroup(masterVersion: version + 3).status == 200)
            try await eventually("no manifest is left", within: .seconds(60)) { try manifests(of: alice).isEmpty }
            #expect(try alice.stored(note).count == 1)
        }

        @Test("An edited manifest and an edited file are detected")
        func edited() async throws {
            let alice = try server.signUpOwningUser(.dropbox)
            let file = TestFile("original").stored(at: .dropbox)
            try alice.publish(file, masterVersion: 0)
            try await waitForManifest(of: alice, stating: 1)
            // Two processes may have written it at the same time; the server then deletes one.
            try await eventually("one manifest is kept", within: .seconds(150)) {
                try manifests(of: alice).count == 1
            }
            let name = try #require(try manifests(of: alice).first)
            let key = try publishedKey()

            try server.sandbox.store(
                Array("changed!".utf8), as: file.cloudName(device: alice.device), in: alice.account)
            let changed = try read(alice, key: key)
            var bytes = try #require(try server.sandbox.contents(of: name, in: alice.account))
            bytes[bytes.count / 2] ^= 1
            try server.sandbox.store(bytes, as: name, in: alice.account)
            let damaged = try read(alice, key: key)
            let checked = try OperatorTool(server).run("fsck", "--manifests")

            let outcomes = changed.report.groups?.array?.first?.files?.array?.compactMap { $0.outcome?.text }
            #expect(changed.status == 1 && outcomes == ["changed"])
            #expect(damaged.status == 1 && damaged.report.damaged?.array?.count == 1)
            #expect(checked.output.contains("manifestDamaged"), "\(checked.output)")
        }

        @Test("While a storage denies access, only the manifest is delayed")
        func revoked() async throws {
            let alice = try server.signUpOwningUser(.google)
            try alice.publish(TestFile("one"), masterVersion: 0)
            try await waitForManifest(of: alice, stating: 1)
            try server.sandbox.revoke(alice.account)
            _ = try server.askDatabase(
                "UPDATE sharing_groups SET master_version = master_version + 1"
                    + " WHERE sharing_group_uuid = '\(alice.group)'")
            try await eventually("the manifest was attempted and waits", within: .seconds(60)) {
                try server.askDatabase(
                    "SELECT COUNT(*) FROM outbox WHERE kind = 'writeManifest' AND attempts > 0 AND lease_owner IS NULL"
                        + " AND user_id = \(alice.userID)") == "1"
            }
            let bob = try server.signUpOwningUser(.dropbox)
            try bob.publish(TestFile("two").stored(at: .dropbox), masterVersion: 0)
            try await waitForManifest(of: bob, stating: 1)
            #expect(try stated(alice) == 1)
        }
    }
}
