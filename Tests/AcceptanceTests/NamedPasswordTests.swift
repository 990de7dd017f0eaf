import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// What a password for a user-specified server proves, and how often syncd sends wrong ones to it.
    @Suite("Passwords for user-specified servers", .serialized)
    final class NamedPasswordTests: Sendable {
        private static let stack = Result {
            try TestServer(
                PrivateStack(
                    "passwords", responders: 1,
                    overrides: #"{"webdav": {"servers": ["https://nextcloud.sandbox.test/"], "anyPublicServer": true}}"#
                ))
        }

        private let server: TestServer
        private let apache: StorageServerProcess
        /// A separate host for each test, since syncd counts rejections per host.
        private let host = "\(UUID().uuidString.prefix(8).lowercased()).sandbox.test"

        init() throws {
            server = try Self.stack.get()
            apache = try StorageServerProcess.of(.openApache)
            apache.isOpen = false
            try server.sandbox.addBackend(host: host, port: apache.port)
            try server.sandbox.clearFaults()
            try server.sandbox.clearViolations()
        }

        deinit {
            apache.isOpen = false
            try? server.sandbox.clearFaults()
            try? server.sandbox.changeSettings(["nextcloudOpenReads": 0, "nextcloudToleratedPasswords": 0])
        }

        private func newcomer() throws -> TestUser { try apache.newcomer(to: server, through: host).user }

        /// The user's account on another device, with another password.
        private func thief(of user: TestUser, _ password: String = "wrong") -> TestUser {
            user.with(account: user.account.replacing(header: "access_token", with: password)).onAnotherDevice()
        }

        private func settled() throws -> TestUser {
            let user = try newcomer()
            #expect(try user.signUpInFolder().status == 200)
            return user
        }

        private func expectAnyPassword(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) {
            expectError(reply, 403, sourceLocation: sourceLocation)
            #expect(reply.json?.code?.text == "server_accepts_any_password", "\(reply)", sourceLocation: sourceLocation)
            #expect(reply.json?.retryable?.bool == false, sourceLocation: sourceLocation)
        }

        private func file(_ text: String) -> TestFile { TestFile(text).stored(at: .webdav) }

        /// The requests that a host has rejected because of their credentials.
        private func refusals(at host: String, since request: Int64) throws -> [JSONValue] {
            try server.sandbox.requests(since: request).filter {
                $0.host?.text == host && $0.status?.integer == 401
            }
        }

        // MARK: Folders that strangers may list

        @Test("If a server shows the folder to everybody, sign-up fails with any password")
        func noSignUp() throws {
            let user = try newcomer()
            apache.isOpen = true

            for person in [user, thief(of: user)] {
                expectAnyPassword(try person.signUpInFolder())
                expectAnyPassword(try person.checkCredentials())
            }

            apache.isOpen = false
            #expect(try user.signUpInFolder().status == 200)
        }

        @Test("If strangers may list the folder later, a wrong password neither signs in nor replaces the stored one")
        func openedLater() throws {
            let alice = try settled()
            let friend = try alice.newMember(.write)
            try alice.publish(file("before"), masterVersion: 1)
            apache.isOpen = true
            let eve = thief(of: alice)

            for _ in 0..<2 {
                let reply = try eve.checkCredentials()
                expectError(reply, 401)
                #expect(reply.json?.code?.text == "credentials_rejected", "\(reply)")
                expectError(try eve.call("GET", "Index", ["sharingGroupUUID": alice.group]), 401)
            }
            expectError(try thief(of: alice, "another").signUpInFolder(), 401)

            // The stored password still opens the folder for the user and their friends.
            try friend.publish(file("after"), masterVersion: 2)
            #expect(try alice.checkCredentials().status == 200)
            #expect(try alice.onAnotherDevice().checkCredentials().status == 200)
            try alice.publish(file("and then"), masterVersion: 3)
        }

        @Test("An existing user proves a new password by an operation that only the owner may perform")
        func provenByWriting() throws {
            let alice = try settled()
            let friend = try alice.newMember(.write)
            apache.isOpen = true
            let users = apache.files.deletingLastPathComponent().appending(path: "users")
            let former = try String(contentsOf: users, encoding: .utf8)
            defer { try? former.write(to: users, atomically: false, encoding: .utf8) }
            let hash = try Command("/usr/bin/openssl", ["passwd", "-apr1", "the-new-one"]).output
            try "tester:\(hash)".write(to: users, atomically: false, encoding: .utf8)
            let renewed = thief(of: alice, "the-new-one")

            expectError(try thief(of: alice).checkCredentials(), 401)
            #expect(try renewed.checkCredentials().status == 200)

            // From now on, the server uses this password for the storage.
            let file = file("with the new one")
            try friend.publish(file, masterVersion: 1)
            expectDownload(try renewed.download(file, masterVersion: 2), of: file)
        }

        @Test("If a server accepts any password, sign-up fails")
        func anyPassword() throws {
            let careless = try LocalHTTPServer { peer in
                while let request = peer.readRequest() {
                    guard request.header("Authorization") != nil else {
                        peer.respond("401 Unauthorized", headers: ["WWW-Authenticate: Basic realm=\"x\""])
                        continue
                    }
                    peer.respond(
                        "207 Multi-Status", headers: ["Content-Type: application/xml"],
                        body: """
                            <d:multistatus xmlns:d="DAV:"><d:response><d:href>/x/</d:href><d:propstat><d:prop>\
                            <d:resourcetype><d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status>\
                            </d:propstat></d:response></d:multistatus>
                            """)
                }
            }
            let other = "any-\(host)"
            try server.sandbox.addBackend(host: other, port: careless.port)

            for address in ["https://\(other)/x/", "https://\(other)/remote.php/dav/files/tester/"] {
                let user = server.newcomer(
                    with: try SandboxAccount(inFolderAt: address, password: StorageServerProcess.password))
                expectAnyPassword(try user.signUpInFolder())
            }
        }

        @Test("On a Nextcloud server, files that everybody may read do not prove a password")
        func openNextcloud() throws {
            let alice = try server.signUpOwningUser(.webdav)
            try server.sandbox.changeSettings(["nextcloudOpenReads": 1])
            defer { try? server.sandbox.changeSettings(["nextcloudOpenReads": 0]) }

            expectError(try thief(of: alice).checkCredentials(), 401)
            #expect(try alice.onAnotherDevice().checkCredentials().status == 200)
            let bob = try server.newcomer(.webdav)
            expectAnyPassword(try bob.signUpInFolder())
        }

        // MARK: Wrong passwords

        @Test("Wrong passwords for one user name do not lock out the server's other users")
        func wrongPasswords() throws {
            let alice = try settled()
            try alice.publish(file("before"), masterVersion: 0)
            let stranger = try SandboxAccount(inFolderAt: "https://\(host)/", user: "nobody", password: "")
            let before = try server.sandbox.lastRequest()

            for number in 0..<11 {
                let person = server.newcomer(with: stranger.replacing(header: "access_token", with: "wrong\(number)"))
                let reply = try person.checkCredentials()
                expectError(reply, 401, 429)
                #expect((reply.status == 429) == (reply.values(of: "retry-after").first != nil), "\(reply)")
            }
            for number in 0..<11 {
                let reply = try thief(of: alice, "wrong\(number)").checkCredentials()
                expectError(reply, 401, 429)
            }

            #expect(try (1..<8).contains(refusals(at: host, since: before).count))
            // A password that was proven before is always accepted.
            #expect(try alice.onAnotherDevice().checkCredentials().status == 200)
            try alice.publish(file("after"), masterVersion: 1)
        }

        @Test("A repeatedly rejected password is rejected from the cache")
        func repeatedPassword() throws {
            let alice = try settled()
            let before = try server.sandbox.lastRequest()
            for _ in 0..<9 {
                expectError(try thief(of: alice).checkCredentials(), 401, 429)
            }
            #expect(try (1..<5).contains(refusals(at: host, since: before).count))
        }

        @Test("Of several simultaneous requests with a withdrawn password, only a few try it")
        func withdrawn() async throws {
            let wu = try server.signUpOwningUser(.webdav)
            let friend = try wu.newMember(.write)
            var files: [TestFile] = []
            for number in 0..<6 {
                files.append(file("file \(number)"))
                try friend.stage(files[number], masterVersion: 1)
            }
            try friend.commitStaged(masterVersion: 1)
            try server.sandbox.revoke(wu.account)
            var slowness = SandboxFault(host: "nextcloud.sandbox.test")
            slowness.latencyMilliseconds = 200
            try server.sandbox.inject(slowness)
            let before = try server.sandbox.lastRequest()

            let shown = files
            let replies = try await Threads.run(12) { number in
                try friend.download(shown[number % 6], masterVersion: 2)
            }

            #expect(replies.allSatisfy { $0.status >= 400 || $0.messageParameters?.gone != nil }, "\(replies)")
            #expect(try (1...5).contains(refusals(at: "nextcloud.sandbox.test", since: before).count))
            #expect(try server.sandbox.violations().isEmpty)
        }

        // Runs last, since rejections count for all of the server's users.
        @Test("A Nextcloud server that blocks addresses after wrong passwords never blocks syncd")
        func nextcloudTurnsAway() throws {
            let alice = try server.signUpOwningUser(.webdav)
            let friend = try alice.newMember(.write)
            try server.sandbox.changeSettings(["nextcloudToleratedPasswords": 10])
            let stranger = try server.newcomer(.webdav)

            for number in 0..<15 {
                expectError(try thief(of: stranger, "wrong\(number)").checkCredentials(), 401, 429)
                expectError(try thief(of: alice, "wrong\(number)").checkCredentials(), 401, 429)
            }

            #expect(try alice.onAnotherDevice().checkCredentials().status == 200)
            try friend.publish(file("after"), masterVersion: 1)
        }
    }
}
