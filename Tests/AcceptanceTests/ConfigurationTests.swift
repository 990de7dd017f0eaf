import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Non-default configurations")
    struct ConfigurationTests {
        let server: TestServer

        init() throws { server = try TestServer.configuredDifferently() }

        @Test("Every reply announces a configured minimum client version [12]")
        func minimumClientVersion() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile()
            let replies = [
                try server.call("GET", "HealthCheck"), try server.call("GET", "Nowhere"),
                try server.call("GET", "CheckCreds"), try alice.checkCredentials(),
                try alice.upload(file, masterVersion: 0), try alice.download(file, masterVersion: 0),
            ]

            for reply in replies {
                let name = "syncserver-minimum-ios-client-app-version"
                #expect(reply.headers.filter { $0.name == name }.map(\.value) == ["19.3.0"], "\(reply)")
            }
        }

        @Test("A disabled account type gets 401 [43]")
        func switchedOff() throws {
            let alice = try server.signUpOwningUser()

            expectError(try server.newcomer(.facebook).redeem(alice.invite()), 401)
        }

        @Test("syncctl lists users near a limit, and metrics count rejections")
        func nearQuota() throws {
            let tool = try OperatorTool(server)
            let alice = try server.signUpOwningUser()
            let bob = try server.signUpOwningUser()
            #expect(try alice.checkCredentials().status == 200)
            #expect(try alice.onAnotherDevice().checkCredentials().status == 200)
            expectError(try alice.onAnotherDevice().checkCredentials(), 409)

            let near = try tool.json("users", "--near-quota", "--limit", "10000")
            let list = try tool.run("users", "--account", alice.account.id)

            let found = near.items?.array ?? []
            let quotas = found.first { $0.userID?.integer == alice.userID }?.quotas?.array ?? []
            let devices = try #require(quotas.first { $0.quota?.text == "devices" })
            #expect(devices.used?.integer == 2 && devices.limit?.integer == 2)
            #expect(!found.contains { $0.userID?.integer == bob.userID })
            #expect(list.output.contains("NOTES") && list.output.contains("devices 2/2"), "\(list.output)")
        }

        @Test("A user cannot have more devices than configured [329]")
        func devices() throws {
            let alice = try server.signUpOwningUser()
            let second = alice.onAnotherDevice()
            expectJSON(try alice.checkCredentials())
            expectJSON(try second.checkCredentials())

            expectError(try alice.onAnotherDevice().checkCredentials(), 409)

            expectJSON(try alice.checkCredentials())
            expectJSON(try second.checkCredentials())
            expectJSON(try server.signUpOwningUser().checkCredentials())
        }

        @Test("An upload that arrives byte by byte ends with 408, and leaves nothing behind")
        func tooSlow() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 100_000)

            let reply = try await Threads.run {
                var conversation = try alice.beginUpload(file, sending: 10)
                let deadline = ContinuousClock.now + .seconds(20)
                for byte in file.contents.dropFirst(10) {
                    // The server soon closes the connection.
                    guard (try? conversation.send([byte])) != nil, ContinuousClock.now < deadline else { break }
                    if conversation.hasReply(within: .milliseconds(200)) { break }
                }
                return try conversation.reply()
            }

            expectError(reply, 408)
            #expect(reply.json?.code?.text == "transfer_too_slow")
            #expect(try alice.stagedUploads().isEmpty)
            try await eventually("nothing is left in the storage") { try alice.stored(file).isEmpty }
        }

        @Test("A body of the maximum size is accepted; one byte more is a 413 [134]")
        func bodySize() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 1_000_000)
            try alice.publish(file, masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)

            expectError(try alice.upload(TestFile(randomBytes: 1_000_001), masterVersion: 1), 413)
            #expect(try alice.stagedUploads().isEmpty)
        }

        @Test("Once a token's cached check has expired, the server calls the provider again [47]")
        func tokenLife() async throws {
            let alice = try server.signUpOwningUser()
            let number = try server.sandbox.lastRequest()

            try await eventually("the provider is called again") {
                expectJSON(try alice.call("GET", "Index"))
                return try server.sandbox.requests(since: number)
                    .contains { $0.path?.text?.hasPrefix("/oauth2/v3/userinfo") == true }
            }
        }

        @Test("Phones that disconnect release their threads")
        func threadsAreFreed() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 900_000)
            let query = ClientQuery.text(alice.uploadParameters(file, masterVersion: 0))
            let call = HTTPCall("POST", "/UploadFile/\(query)", headers: alice.headers)

            // More connections than the 4 threads.
            for _ in 0..<20 {
                let conversation = try HTTPConversation(to: server.address)
                try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
                try conversation.send(file.contents.prefix(400_000))
                conversation.hangUp()
            }

            // A thread notices the disconnection when it waits for the next byte.
            try await eventually("a thread is free") {
                try alice.upload(file, masterVersion: 0).status == 200
            }
            try alice.commitStaged(masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("Slow phones do not delay others' short requests")
        func slowPhones() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 900_000)
            let query = ClientQuery.text(alice.uploadParameters(file, masterVersion: 0))
            let call = HTTPCall("POST", "/UploadFile/\(query)", headers: alice.headers)
            func begin() throws -> HTTPConversation {
                let conversation = try HTTPConversation(to: server.address)
                try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
                return conversation
            }
            var phones = [Box(try begin()), Box(try begin()), Box(try begin()), Box(try begin())]

            let begin = ContinuousClock.now
            for _ in 0..<10 { expectJSON(try alice.call("GET", "Index")) }

            #expect(ContinuousClock.now - begin < .seconds(5))
            phones.removeAll()
        }

        @Test(
            "config check names an unusable key, and the server exits with EX_CONFIG",
            arguments: [
                ("apns", "privateKeyFile", "junk"), ("fcm", "serviceAccountFile", "junk"),
                ("fcm", "serviceAccountFile", #"{"project_id": "p", "client_email": "e", "private_key": "junk"}"#),
                ("appleSignIn", "privateKeyFile", "junk"), ("apns", "privateKeyFile", ""),
            ])
        func unusableKey(section: String, setting: String, contents: String) throws {
            let shared = try TestServer.shared()
            let good = try shared.environment.value("CONFIG_FILE")
            let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            func write(_ data: Data, _ name: String) throws -> String {
                let path = folder.appending(path: name).path
                try data.write(to: URL(filePath: path))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
                return path
            }
            var settings = try #require(
                try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: good))) as? [String: Any])
            var members = try #require(settings[section] as? [String: Any])
            members[setting] = try write(Data(contents.utf8), "key")
            settings[section] = members
            let bad = try write(JSONSerialization.data(withJSONObject: settings), "bad.json")
            let syncd = try #require(try shared.processes("syncd_api").first).executable()
            let syncctl = URL(filePath: syncd).deletingLastPathComponent().appending(path: "syncctl").path

            let check = try Command(syncctl, ["config", "check", "--config", bad])
            let start = try Command(syncd, ["--role", "jobs", "--config", bad])

            #expect(check.status == 78 && check.output.contains("\(section).\(setting) cannot be used: it"))
            #expect(start.status == 78 && start.output.contains("\(section).\(setting) cannot be used: it"))
            if !contents.isEmpty { #expect(!(check.output + start.output).contains("junk")) }
            #expect(try Command(syncctl, ["config", "check", "--config", good]).status == 0)
        }

        @Test(
            "Without an owning account type, the server does not start and prints the reason [16]",
            arguments: ["{}", "{\"Facebook\": true}", "{\"Google\": false}"])
        func noOwningType(types: String) throws {
            let good = try server.environment.value("CONFIG_FILE")
            var settings = try #require(
                try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: good))) as? [String: Any])
            settings["allowedSignInTypes"] = try JSONSerialization.jsonObject(with: Data(types.utf8))
            let bad = URL(filePath: good).deletingLastPathComponent().appending(path: "bad-\(UUID().uuidString).json")
            try JSONSerialization.data(withJSONObject: settings).write(to: bad)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: bad.path)
            let syncd = try #require(try server.processes("syncd_api").first).executable()
            let syncctl = URL(filePath: syncd).deletingLastPathComponent().appending(path: "syncctl").path

            let check = try Command(syncctl, ["config", "check", "--config", bad.path])
            let start = try Command(syncd, ["--role", "jobs", "--config", bad.path])

            #expect(check.status == 78 && check.output.contains("allowedSignInTypes"))
            let forPrograms = try Command(syncctl, ["config", "check", "--json", "--config", bad.path])
            #expect(forPrograms.status == 78)
            let problems = try #require(JSONValue(Array(forPrograms.output.utf8))?.problems?.array)
            #expect(problems.contains { $0.sentence?.text?.contains("allowedSignInTypes") == true })
            #expect(start.status != 0 && start.output.contains("allowedSignInTypes"))
            #expect(try Command(syncctl, ["config", "check", "--config", good]).status == 0)
        }
    }
}

/// Stores a noncopyable connection in an array.
private final class Box {
    private let conversation: HTTPConversation

    init(_ conversation: consuming HTTPConversation) { self.conversation = conversation }
}
