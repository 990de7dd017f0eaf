import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// A server whose database is lost, and another one with the same secrets, the same storages and the same people.
    @Suite("A server rebuilt from manifests")
    final class RebuildTests: Sendable {
        private let lost: TestServer

        init() throws {
            lost = try TestServer(
                PrivateStack(
                    "lost-\(UUID().uuidString.prefix(8))", responders: 1,
                    overrides: #"{"manifests": {"intervalSeconds": 1}}"#))
        }

        /// A server with an empty database.
        private func another() throws -> TestServer {
            let file = try lost.environment.value("CONFIG_FILE")
            let key = JSONValue(Array(try Data(contentsOf: URL(filePath: file))))?.sealing?.keyFile?.text
            return try TestServer(
                PrivateStack(
                    "rebuilt-\(UUID().uuidString.prefix(8))", responders: 1,
                    overrides: """
                        {
                            "manifests": {"intervalSeconds": 1},
                            "sealing": {"keyFile": "\(try #require(key))"},
                            "sandbox": {
                                "connectTo": "127.0.0.1:\(try lost.environment.value("SANDBOX_TLS_PORT"))",
                                "caFile": "\(lost.certificateAuthorityFile)"
                            }
                        }
                        """))
        }

        private func waitForManifest(of user: TestUser, stating version: Int64) async throws {
            try await eventually("the manifest states version \(version)", within: .seconds(60)) {
                try lost.askDatabase(
                    "SELECT m.master_version FROM manifests m JOIN sharing_groups g USING (sharing_group_id)"
                        + " WHERE g.sharing_group_uuid = '\(user.group)' AND m.owning_user_id = \(user.userID)")
                    == "\(version)"
            }
        }

        /// Waits until a person is no longer held.
        private func waitUntilServed(_ user: TestUser) async throws {
            try await eventually("\(user.account.name) is served", within: .seconds(60)) {
                let reply = try user.checkCredentials()
                guard reply.status == 503 else { return reply.status == 200 }
                #expect(reply.json?.code?.text == "restoring")
                return false
            }
        }

        @Test("Owners open the app one after another, and everything is back: groups, members, files, numbers")
        func story() async throws {
            let alice = try lost.signUpOwningUser(.google, name: "Alice", groupName: "Norway")
            let dave = try lost.signUpInvitedUser(alice.invite(), provider: .dropbox, name: "Dave")
            let carol = try lost.signUpInvitedUser(alice.invite(), name: "Carol")
            let alices = TestFile("Alice's").stored(at: .google)
            let daves = TestFile("Dave's").stored(at: .dropbox)
            let carols = TestFile("Carol's").stored(at: .google)
            var version = try #require(try alice.index().masterVersion)
            try alice.publish(alices, masterVersion: version, metadata: TestMetadata(0, #"{"title":"one"}"#))
            try dave.publish(daves, masterVersion: version + 1)
            try carol.publish(carols, masterVersion: version + 2)
            version += 3
            for owner in [alice, dave] { try await waitForManifest(of: owner, stating: version) }

            let server = try another()
            let tool = try OperatorTool(server)
            let begun = try tool.run("rebuild", "begin", "--folder", alice.folder)
            #expect(begun.status == 0, "\(begun.output)")
            #expect(try tool.run("rebuild", "begin").status == 1)
            let (newAlice, newCarol, newDave) = (alice.movedTo(server), carol.movedTo(server), dave.movedTo(server))
            try await eventually("the mode is known") { try newCarol.checkCredentials().status == 503 }
            try await waitUntilServed(newAlice)

            // Everybody is in the list; nobody may write yet, because Dave has not returned.
            let index = try newAlice.index()
            let group = try #require(index.group(alice.group))
            #expect(index.masterVersion == version && index.files.count == 3)
            #expect(group.sharingGroupName?.text == "Norway" && group.permission?.text == "read")
            #expect(group.restoredMasterVersion?.integer == version && group.restoreMark?.text != nil)
            let members = Set(group.sharingGroupUsers?.array?.compactMap { $0.name?.text } ?? [])
            #expect(members == ["Alice", "Carol", "Dave"])
            #expect(try newAlice.checkCredentials().json?.userId?.integer == alice.userID)
            let download = try newAlice.onAnotherDevice().download(alices, masterVersion: version, metadataVersion: 0)
            expectDownload(download, of: alices, metadata: #"{"title":"one"}"#)
            expectDownload(try newAlice.download(carols, masterVersion: version), of: carols)
            let refused = try newAlice.upload(TestFile("later"), masterVersion: version)
            #expect(refused.status == 409 && refused.json?.code?.text == "permission_too_low")
            // Carol is known now, and can read.
            try await waitUntilServed(newCarol)
            #expect(try newCarol.checkCredentials().json?.userId?.integer == carol.userID)
            let waiting = try tool.json("rebuild", "status")
            #expect(waiting.groups?.array?.first?.absentOwners?.text == "Dave")

            try await waitUntilServed(newDave)
            #expect(try newAlice.index().group(alice.group)?.permission?.text == "admin")
            let before = try carol.index().group(alice.group)?.permission?.text
            #expect(try newCarol.index().group(alice.group)?.permission?.text == before)
            expectDownload(try newCarol.download(daves, masterVersion: version), of: daves)
            try newCarol.publish(TestFile("written on the new server").stored(at: .google), masterVersion: version)
            #expect(try tool.run("rebuild", "end").status == 0)
            let fsck = try tool.run("fsck")
            #expect(fsck.status == 0, "\(fsck.output)")

            // A stranger signs up as on any server.
            let eve = try lost.newcomer(.dropbox, name: "Eve").movedTo(server)
            try await eventually("the end is known") { try eve.signUp().status == 200 }
            #expect(try eve.groups().groups.count == 1)
        }

        @Test("Files are restored from each kind of storage, in whatever order their owners return")
        func storages() async throws {
            let alice = try lost.signUpOwningUser(.google, name: "Alice")
            var owners = [(person: alice, file: TestFile("in Google").stored(at: .google))]
            for provider in [SandboxProvider.dropbox, .microsoft, .webdav] {
                let owner = try lost.signUpInvitedUser(alice.invite(), provider: provider, name: "\(provider)")
                owners.append((owner, TestFile("in \(provider)").stored(at: provider)))
            }
            var version = try #require(try alice.index().masterVersion)
            for owner in owners {
                try owner.person.publish(owner.file, masterVersion: version)
                version += 1
            }
            for owner in owners { try await waitForManifest(of: owner.person, stating: version) }

            let server = try another()
            let tool = try OperatorTool(server)
            #expect(try tool.run("rebuild", "begin", "--folder", alice.folder).status == 0)
            try await eventually("the mode is known") {
                try alice.movedTo(server).checkCredentials().json?.code?.text == "restoring"
            }
            for owner in owners.shuffled() { try await waitUntilServed(owner.person.movedTo(server)) }
            for owner in owners {
                let person = owner.person.movedTo(server)
                #expect(try person.index().file(owner.file)?.awaitingReupload == nil)
                for other in owners {
                    expectDownload(try person.download(other.file, masterVersion: version), of: other.file)
                }
            }
            #expect(try tool.run("rebuild", "end").status == 0)
            let fsck = try tool.run("fsck", "--clouds")
            #expect(fsck.status == 0, "\(fsck.output)")
        }

        /// Checks that a list contains everything that a person's devices have: if a group or file is missing, an app
        /// may delete its copy.
        private func expectNothingIsMissing(
            _ person: TestUser, _ having: [String: Set<String>], sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> Bool {
            let list = try person.call("GET", "Index")
            guard list.status == 200 else {
                #expect(
                    list.status == 503 && list.json?.code?.text == "restoring", "\(person.account.name): \(list)",
                    sourceLocation: sourceLocation)
                #expect(!list.values(of: "retry-after").isEmpty, sourceLocation: sourceLocation)
                // A request about one group reveals no more.
                for group in having.keys {
                    let reply = try person.call("GET", "Index", ["sharingGroupUUID": group])
                    // The last group may have returned since.
                    if reply.status == 200 {
                        let isServed = try person.call("GET", "Index").status == 200
                        #expect(isServed, sourceLocation: sourceLocation)
                        return try isServed && expectNothingIsMissing(person, having)
                    }
                    #expect(reply.status == 503, sourceLocation: sourceLocation)
                }
                return false
            }
            let listed = Set(list.json?.sharingGroups?.array?.compactMap { $0.sharingGroupUUID?.text } ?? [])
            #expect(listed == Set(having.keys), "\(person.account.name)", sourceLocation: sourceLocation)
            for (group, files) in having {
                let index = try person.index(of: group)
                let live = index.files.filter { $0.deleted?.bool != true }.compactMap { $0.fileUUID?.text }
                #expect(Set(live) == files, "\(person.account.name)", sourceLocation: sourceLocation)
            }
            return true
        }

        @Test("In whatever order people return, nobody ever sees a list without one of their groups or files")
        func nothingIsEverMissing() async throws {
            // Alice and Dave own files, and groups of their own; Carol has no storage, Erin has no files.
            let alice = try lost.signUpOwningUser(.google, name: "Alice", groupName: "Norway")
            let dave = try lost.signUpOwningUser(.dropbox, name: "Dave", groupName: "Kitchen")
            let carol = try lost.signUpInvitedUser(alice.invite(), name: "Carol")
            let erin = try lost.signUpInvitedUser(dave.invite(), provider: .dropbox, name: "Erin")
            for guest in [carol, alice] { #expect(try guest.redeem(dave.invite()).status == 200) }
            let (norways, kitchens, alices) = (
                TestFile("a photo").stored(at: .google), TestFile("a recipe").stored(at: .dropbox),
                TestFile("another recipe").stored(at: .google)
            )
            try alice.publish(norways, masterVersion: try #require(try alice.index().masterVersion))
            var version = try #require(try dave.index().masterVersion)
            try dave.publish(kitchens, masterVersion: version)
            try alice.publish(alices, masterVersion: version + 1, group: dave.group)
            version += 2
            try await eventually("all manifests state the present", within: .seconds(60)) {
                try lost.askDatabase(
                    """
                    SELECT COUNT(*) FROM manifests m JOIN sharing_groups g USING (sharing_group_id)
                      JOIN manifest_scans s USING (sharing_group_id)
                     WHERE m.master_version = g.master_version AND s.master_version = g.master_version
                    """) == "3"
            }
            let (norway, kitchen) = (
                [alice.group: Set([norways.uuid])], [dave.group: Set([kitchens.uuid, alices.uuid])]
            )
            let everything = norway.merging(kitchen) { first, _ in first }
            let people = [(alice, everything), (dave, kitchen), (carol, everything), (erin, kitchen)]

            let server = try another()
            let tool = try OperatorTool(server)
            #expect(try tool.run("rebuild", "begin", "--folder", alice.folder).status == 0)
            try await eventually("the mode is known") {
                try carol.movedTo(server).checkCredentials().status == 503
            }
            func served(besides absent: String? = nil) throws -> Set<String> {
                let come = people.filter { $0.0.account.name != absent }
                return try Set(
                    come.filter { try expectNothingIsMissing($0.0.movedTo(server), $0.1) }.map(\.0.account.name))
            }
            // Erin's folder contains nothing; Dave's contains the manifest of one of two groups.
            let newErin = erin.movedTo(server)
            try await eventually("Erin's folder has been read", within: .seconds(60)) {
                _ = try newErin.checkCredentials()
                return try tool.json("rebuild", "status").visitors?.array?.first?.state?.text == "stranger"
            }
            let newDave = dave.movedTo(server)
            try await waitUntilServed(newDave)
            try await waitUntilServed(newErin)
            let status = try tool.json("rebuild", "status")
            #expect(status.awaited?.array?.compactMap { $0.sharingGroupUUID?.text } == [alice.group])
            let refused = try tool.run("rebuild", "end")
            #expect(refused.status == 1 && refused.output.contains("did not come back"), "\(refused.output)")
            #expect(try served(besides: "Alice") == ["Dave", "Erin"])
            try await eventually("everybody is served", within: .seconds(60)) { try served().count == 4 }
            #expect(try tool.json("rebuild", "status").awaited?.array?.isEmpty == true)
            #expect(try newDave.index().group(dave.group)?.permission?.text == "admin")
            #expect(try tool.run("rebuild", "end").status == 0)
            #expect(try served().count == 4)
        }

        @Test("A restored backup is brought up to date from the manifests")
        func restoredBackup() async throws {
            let alice = try lost.signUpOwningUser(.google, name: "Alice", groupName: "Norway")
            let dave = try lost.signUpInvitedUser(alice.invite(), provider: .dropbox, name: "Dave")
            let tool = try OperatorTool(lost)
            let folder = try ScratchFolder("rebuild-backup")
            var version = try #require(try alice.index().masterVersion)
            let (photo, old) = (TestFile("a photo").stored(at: .google), TestFile("an old one").stored(at: .google))
            for file in [photo, old] {
                try alice.publish(file, masterVersion: version)
                version += 1
            }
            let backup = folder.url.appending(path: "backup.gz").path
            try tool.json("backup", "make", backup)
            // The backup lacks a version, a deletion, a file of an owner who had none, and a member.
            let newer = photo.next("the same photo, in colour")
            let daves = TestFile("Dave's").stored(at: .dropbox)
            try alice.publish(newer, masterVersion: version)
            try alice.deleteAndCommit(old, masterVersion: version + 1)
            try dave.publish(daves, masterVersion: version + 2)
            let erin = try lost.signUpInvitedUser(alice.invite(.read), name: "Erin")
            version += 4
            for owner in [alice, dave] { try await waitForManifest(of: owner, stating: version) }

            try tool.json("maintenance", "on", "We are back soon.")
            try await eventually("the server is closed") { try alice.checkCredentials().status == 503 }
            try lost.dropAllTables()
            try tool.json("backup", "restore", "--rows-only", backup)
            let begun = try tool.run("rebuild", "begin", "--folder", alice.folder, "--hold")
            #expect(begun.status == 0, "\(begun.output)")
            try tool.json("maintenance", "off")

            // With --hold, nobody sees the state of the backup.
            try await eventually("the folders have been read", within: .seconds(60)) {
                for person in [alice, dave, erin] {
                    let reply = try person.checkCredentials()
                    #expect(reply.status == 503, "\(reply)")
                }
                let visitors = try tool.json("rebuild", "status").visitors?.array ?? []
                return visitors.count == 2 && visitors.allSatisfy { $0.state?.text == "read" }
            }
            let ended = try tool.run("rebuild", "end")
            #expect(ended.status == 0, "\(ended.output)")
            for person in [alice, dave, erin] { try await waitUntilServed(person) }
            let index = try alice.index()
            #expect(index.masterVersion == version && index.file(newer)?.fileVersion?.integer == 1)
            #expect(index.file(old)?.deleted?.bool == true)
            expectDownload(try erin.download(newer, masterVersion: version), of: newer)
            expectDownload(try alice.download(daves, masterVersion: version), of: daves)
            let group = try #require(index.group(alice.group))
            #expect(group.permission?.text == "admin" && group.restoredMasterVersion?.integer != nil)
            #expect(try erin.index().group(alice.group)?.permission?.text == "read")
            let refused = try erin.upload(TestFile("hers").stored(at: .google), masterVersion: version)
            #expect(refused.json?.code?.text == "permission_too_low")
            let fsck = try tool.run("fsck")
            #expect(fsck.status == 0, "\(fsck.output)")
            withExtendedLifetime(folder) {}
        }

        @Test("Without the old key, the operator accepts the manifests of one group that they have seen")
        func unsigned() async throws {
            let alice = try lost.signUpOwningUser(.dropbox, name: "Alice", groupName: "Norway")
            let file = TestFile("Alice's").stored(at: .dropbox)
            try alice.publish(file, masterVersion: 0)
            try await waitForManifest(of: alice, stating: 1)
            // All secrets are lost as well.
            let server = try TestServer(
                PrivateStack(
                    "forgetful-\(UUID().uuidString.prefix(8))", responders: 1,
                    overrides: """
                        {"sandbox": {
                            "connectTo": "127.0.0.1:\(try lost.environment.value("SANDBOX_TLS_PORT"))",
                            "caFile": "\(lost.certificateAuthorityFile)"
                        }}
                        """))
            let tool = try OperatorTool(server)
            #expect(try tool.run("rebuild", "begin").status == 0)
            let newAlice = alice.movedTo(server)
            try await eventually("the manifest is shown", within: .seconds(60)) {
                _ = try newAlice.checkCredentials()
                return try tool.json("rebuild", "status").claims?.array?.count == 1
            }
            let claim = try #require(try tool.json("rebuild", "status").claims?.array?.first)
            #expect(claim.groupName?.text == "Norway" && claim.adminNames?.text == "Alice")
            #expect(try newAlice.checkCredentials().json?.code?.text == "restoring")
            let other = try tool.run("rebuild", "begin", "--trust-unsigned", "--group", UUID().uuidString)
            #expect(other.status == 1 && other.output.contains("nobody has brought"))

            let trusted = try tool.run("rebuild", "begin", "--trust-unsigned", "--group", alice.group)
            #expect(trusted.status == 0, "\(trusted.output)")
            try await waitUntilServed(newAlice)
            expectDownload(try newAlice.download(file, masterVersion: 1), of: file)
        }

        @Test("If somebody does not come, the operator opens the group")
        func finish() async throws {
            let alice = try lost.signUpOwningUser(.google, name: "Alice")
            let dave = try lost.signUpInvitedUser(alice.invite(), provider: .dropbox, name: "Dave")
            var version = try #require(try alice.index().masterVersion)
            try alice.publish(TestFile("Alice's").stored(at: .google), masterVersion: version)
            let daves = TestFile("Dave's").stored(at: .dropbox)
            try dave.publish(daves, masterVersion: version + 1)
            version += 2
            try await waitForManifest(of: alice, stating: version)
            let server = try another()
            let tool = try OperatorTool(server)
            #expect(try tool.run("rebuild", "begin", "--folder", alice.folder).status == 0)
            let newAlice = alice.movedTo(server)
            try await eventually("the mode is known") { try newAlice.checkCredentials().status == 503 }
            try await waitUntilServed(newAlice)
            #expect(try newAlice.index().group(alice.group)?.permission?.text == "read")

            let finished = try tool.run("rebuild", "finish", "--group", alice.group)
            #expect(finished.status == 0, "\(finished.output)")
            try newAlice.publish(TestFile("later").stored(at: .google), masterVersion: version)
            // His file is listed, and its contents are available as soon as he returns.
            #expect(try newAlice.index().file(daves) != nil)
            try await waitUntilServed(dave.movedTo(server))
            expectDownload(try newAlice.download(daves, masterVersion: version + 1), of: daves)
        }
    }
}
