import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// The manifests in owners' folders, as the programs see them that need no server.
    @Suite("Manifests in owners' folders")
    final class ManifestTests: Sendable {
        private static let stack = Result {
            let server = try TestServer(
                PrivateStack(
                    "manifests", responders: 1,
                    overrides: """
                        {
                            "manifests": {"intervalSeconds": 1},
                            "allowedSignInTypes": {
                                "Google": true, "Facebook": true, "Microsoft": true, "Dropbox": true, "WebDAV": true,
                                "S3": true
                            },
                            "s3": {"endpoints": ["https://moto.sandbox.test"]}
                        }
                        """))
            try server.sandbox.addBackend(host: "moto.sandbox.test", port: try StorageServerProcess.of(.s3Moto).port)
            return server
        }

        /// A storage: an emulated one, or a bucket of a real server.
        enum Place: String, CaseIterable {
            case google, dropbox, microsoft, webdav, s3

            var sandbox: SandboxProvider? { SandboxProvider(rawValue: rawValue) }
        }

        private let server: TestServer

        init() throws {
            server = try Self.stack.get()
            try server.sandbox.clearFaults()
        }

        private func signUp(at place: Place) throws -> TestUser {
            if let provider = place.sandbox { return try server.signUpOwningUser(provider, groupName: "Norway") }
            var user = server.newcomer(
                with: try SandboxAccount(inBucketAt: "https://moto.sandbox.test", prefix: UUID().uuidString))
            let reply = try user.call(
                "POST", "AddUser", ["sharingGroupUUID": user.group, "sharingGroupName": "Norway"])
            user.userID = try #require(reply.json?.userId?.integer, "\(reply)")
            return user
        }

        private func names(_ user: TestUser, at place: Place) throws -> [String] {
            guard place == .s3 else { return try server.sandbox.files(of: user.account).map(\.name) }
            return try S3Bucket(.s3Moto).objects(behind: user.account.id + "/").map(\.name)
        }

        private func contents(of name: String, _ user: TestUser, at place: Place) throws -> [UInt8]? {
            guard place == .s3 else { return try server.sandbox.contents(of: name, in: user.account) }
            return try S3Bucket(.s3Moto).read("\(user.account.id)/\(name)")
        }

        private func manifests(of user: TestUser, at place: Place) throws -> [String] {
            try names(user, at: place).filter { $0.hasPrefix(user.group) && $0.hasSuffix(".manifest.gz") }.sorted()
        }

        /// The name of the newest manifest.
        private func current(_ user: TestUser) throws -> String {
            let sequence = try server.askDatabase(
                "SELECT m.sequence FROM manifests m JOIN sharing_groups g USING (sharing_group_id)"
                    + " WHERE g.sharing_group_uuid = '\(user.group)' AND m.owning_user_id = \(user.userID)")
            return "\(user.group).\(sequence).manifest.gz"
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
        private func read(_ user: TestUser, at place: Place, key: String? = nil) throws -> (
            report: JSONValue, output: URL, status: Int32
        ) {
            let root = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID().uuidString)")
            let (folder, output) = (root.appending(path: "folder"), root.appending(path: "output"))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for name in try names(user, at: place) {
                // The manifest before the previous one may be deleted at any moment.
                guard let bytes = try contents(of: name, user, at: place) else { continue }
                try Data(bytes).write(to: folder.appending(path: name))
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

        @Test(
            "A commit is followed by a manifest from which the files can be restored by name; the one before is kept [393]",
            arguments: Place.allCases)
        func life(place: Place) async throws {
            let alice = try signUp(at: place)
            let bob = try server.signUpInvitedUser(alice.invite(), name: "Bob")
            let note = TestFile("a note").stored(at: place.sandbox ?? .google)
            let picture = TestFile("no name").stored(at: place.sandbox ?? .google)
            let version = try #require(try alice.index().masterVersion)
            try alice.publish(
                note, masterVersion: version,
                metadata: TestMetadata(0, #"{"path":"notes/one.txt"}"#))
            try bob.publish(picture, masterVersion: version + 1)
            try await waitForManifest(of: alice, stating: version + 2)

            let (report, output, status) = try read(alice, at: place, key: publishedKey())
            let group = try #require(report.groups?.array?.first)
            #expect(status == 0, "\(report)")
            #expect(group.group?.text == alice.group && group.name?.text == "Norway")
            #expect(group.hasExpectedKey?.bool == true)
            #expect(group.members?.array?.compactMap(\.text).contains("Bob") == true)
            #expect(group.files?.array?.count == 2)
            #expect(group.files?.array?.allSatisfy { $0.outcome?.text == "written" } == true, "\(group)")
            #expect(try String(contentsOf: output.appending(path: "Norway/notes/one.txt"), encoding: .utf8) == "a note")
            #expect(try FileManager.default.contentsOfDirectory(atPath: output.path + "/Norway").count == 2)

            let tool = try OperatorTool(server)
            let folder = try tool.run("fsck", "--clouds", "--json", "--owner", "\(alice.userID)").output
            #expect(!folder.contains("objectForeign") && !folder.contains("storageUnavailable"), "\(folder)")

            // Later manifests do not contain a member who has left; the previous manifest is kept as it was.
            let previous = try current(alice)
            let bytes = try #require(try contents(of: previous, alice, at: place))
            #expect(try bob.removeAccount().status == 200)
            try await waitForManifest(of: alice, stating: version + 3)
            let newest = try current(alice)
            // An object that two processes wrote at the same time may stay until its lease expires.
            try await eventually("two manifests are kept", within: .seconds(150)) {
                try manifests(of: alice, at: place).count == 2
            }
            #expect(try manifests(of: alice, at: place) == [previous, newest])
            #expect(try contents(of: previous, alice, at: place) == bytes)
            let later = try read(alice, at: place, key: publishedKey()).report.groups?.array?.first
            #expect(later?.manifest?.text == newest)
            #expect(later?.members?.array?.compactMap(\.text).contains("Bob") == false)

            // When the group is removed, its manifests are deleted, and the files stay.
            #expect(try alice.removeGroup(masterVersion: version + 3).status == 200)
            try await eventually("no manifest is left", within: .seconds(60)) {
                try manifests(of: alice, at: place).isEmpty
            }
            #expect(try names(alice, at: place).contains(note.cloudName(device: alice.device)))
        }

        @Test("The keys are published without credentials, the latest first; former keys remain [394]")
        func keys() async throws {
            let alice = try server.signUpOwningUser(.google)
            try alice.publish(TestFile("one"), masterVersion: 0)
            try await waitForManifest(of: alice, stating: 1)
            _ = try server.askDatabase(
                "INSERT IGNORE INTO manifest_keys VALUES (REPEAT(CHAR(7), 32), '2020-02-03 04:05:06')")

            for path in ["/.well-known/syncserver-manifest-keys", "/.well-known/syncserver-manifest-keys/"] {
                let reply = try server.address.perform(HTTPCall("GET", path))
                let keys = try #require(reply.json?.keys?.array)
                #expect(reply.status == 200 && reply.values(of: "syncserver-version").count == 1)
                #expect(keys.count == 2)
                // 32 bytes of 7, in base64url.
                #expect(keys.last?.key?.text == String(repeating: "BwcH", count: 10) + "Bwc")
                #expect(keys.last?.firstUsed?.text == "2020-02-03 04:05:06")
            }
            let stated = try read(alice, at: .google).report.groups?.array?.first?.key?.text
            #expect(try stated == publishedKey())
        }

        @Test("fsck says what is wrong with a manifest, and has missing, damaged and outdated ones written again")
        func repairs() async throws {
            let tool = try OperatorTool(server)
            func signUp() async throws -> TestUser {
                let user = try server.signUpOwningUser(.dropbox)
                try user.publish(TestFile("one").stored(at: .dropbox), masterVersion: 0)
                try await waitForManifest(of: user, stating: 1)
                return user
            }
            /// The findings with their repairs, and whether each concerns the user.
            func findings(_ user: TestUser, _ options: String...) throws -> [String: Bool] {
                let json = try tool.run(["fsck", "--manifests", "--json", "--rows", "1000"] + options)
                let report = try #require(JSONValue(Array(json.output.utf8)), "\(json)")
                let found = options.isEmpty ? report.findings?.array : report.repairs?.array
                var rows: [String: Bool] = [:]
                for finding in found ?? [] {
                    let concerned = finding.rows?.array?.contains { row in
                        let text = row.row?.text ?? ""
                        return text.hasPrefix("user \(user.userID),")
                    }
                    rows[finding.code?.text ?? ""] = concerned ?? false
                }
                return rows
            }

            // Each fault with a kept intact manifest and without.
            let (missing, damaged, outdated) = (try await signUp(), try await signUp(), try await signUp())
            let former = try current(missing)
            try missing.publish(TestFile("two").stored(at: .dropbox), masterVersion: 1)
            try await waitForManifest(of: missing, stating: 2)
            try server.sandbox.delete(try current(missing), in: missing.account)
            try server.sandbox.store(Array("!".utf8), as: try current(damaged), in: damaged.account)
            // As if manifests had been off while the group changed.
            _ = try server.askDatabase(
                "UPDATE manifests SET master_version = 0 WHERE owning_user_id = \(outdated.userID)")

            #expect(try findings(missing)["manifestMissing"] == true)
            #expect(try findings(damaged)["manifestDamaged"] == true)
            #expect(try findings(outdated)["manifestOutdated"] == true)
            let text = try tool.run("fsck", "--manifests").output
            #expect(text.contains("--repair schedules another one, which the jobs role writes"), "\(text)")

            let repaired = try findings(missing, "--repair").keys
            #expect(Set(repaired).isSuperset(of: ["manifestMissing", "manifestDamaged", "manifestOutdated"]))
            try await waitForManifest(of: missing, stating: 2)
            try await waitForManifest(of: damaged, stating: 1)
            try await waitForManifest(of: outdated, stating: 1)
            // The intact manifest was kept in the meantime.
            #expect(try manifests(of: missing, at: .dropbox) == [former, try current(missing)])
            for user in [missing, damaged, outdated] {
                let report = try read(user, at: .dropbox, key: publishedKey()).report
                #expect(report.groups?.array?.first?.manifest?.text == (try current(user)), "\(report)")
                #expect(try findings(user).values.allSatisfy { !$0 })
            }
        }

        @Test("An edited manifest and an edited file are detected")
        func edited() async throws {
            let alice = try server.signUpOwningUser(.dropbox)
            let file = TestFile("original").stored(at: .dropbox)
            try alice.publish(file, masterVersion: 0)
            try await waitForManifest(of: alice, stating: 1)
            // Two processes may have written it at the same time; the server then deletes one.
            try await eventually("one manifest is kept", within: .seconds(150)) {
                try manifests(of: alice, at: .dropbox).count == 1
            }
            let name = try #require(try manifests(of: alice, at: .dropbox).first)
            let key = try publishedKey()

            try server.sandbox.store(
                Array("changed!".utf8), as: file.cloudName(device: alice.device), in: alice.account)
            let changed = try read(alice, at: .dropbox, key: key)
            var bytes = try #require(try server.sandbox.contents(of: name, in: alice.account))
            bytes[bytes.count / 2] ^= 1
            try server.sandbox.store(bytes, as: name, in: alice.account)
            let damaged = try read(alice, at: .dropbox, key: key)
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
