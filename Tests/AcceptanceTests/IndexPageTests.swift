import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("The index page in an owner's folder")
    final class IndexPageTests: Sendable {
        private static let stack = Result {
            try TestServer(PrivateStack("index-page", responders: 1, overrides: #"{"writesIndexPage": true}"#))
        }
        private static let storages: [SandboxProvider] = [.google, .dropbox, .microsoft]
        private static let name = "index.html"

        private let server: TestServer

        init() throws {
            server = try Self.stack.get()
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        private func picture(_ name: String) throws -> TestFile {
            let path = PrivateStack.repository.appending(path: "Examples/album/pictures/\(name).jpg")
            var file = TestFile(randomBytes: 0)
            file.contents = Array(try Data(contentsOf: path))
            return file
        }

        private func pages(of user: TestUser) throws -> [StoredFile] {
            try server.sandbox.files(of: user.account).filter { $0.name.hasPrefix("index") }
        }

        /// Waits until the user has exactly one page, and it fulfils the condition.
        private func page(of user: TestUser, _ expectation: String, _ condition: (String) -> Bool) async throws
            -> String
        {
            var text = ""
            try await eventually("one page exists: \(expectation)", within: .seconds(60)) {
                guard try pages(of: user).map(\.name) == [Self.name],
                    let bytes = try server.sandbox.contents(of: Self.name, in: user.account)
                else { return false }
                text = String(decoding: bytes, as: UTF8.self)
                return condition(text)
            }
            return text
        }

        /// Makes pages that wait for further changes due immediately.
        private func hurry(_ user: TestUser) throws {
            _ = try server.askDatabase(
                "UPDATE outbox SET available_at = UTC_TIMESTAMP() WHERE kind = 'writeIndexPage' AND lease_owner IS NULL"
                    + " AND user_id = \(user.userID)")
        }

        private func pending(_ user: TestUser) throws -> String {
            try server.askDatabase(
                "SELECT COUNT(*) FROM outbox WHERE kind = 'writeIndexPage' AND user_id = \(user.userID)"
            )
        }

        @Test("Commits in quick succession write one page, which lists the owner's current files", arguments: storages)
        func life(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider, groupName: "Hill <b>walkers</b>")
            let picture = try picture("lake").stored(at: provider)
            let text = TestFile("Hello").stored(at: provider)
            try alice.publish(picture, masterVersion: 0)
            try alice.publish(text, masterVersion: 1)
            let waiting = try pending(alice)
            let names = [picture, text].map { $0.cloudName(device: alice.device) }

            // The page waits for further changes, whatever the storage.
            if provider != .google { try hurry(alice) }
            let first = try await page(of: alice, "both files") { page in names.allSatisfy(page.contains) }
            let tool = try OperatorTool(server)
            let checked = try tool.run(["fsck", "--clouds", "--json", "--owner", "\(alice.userID)"]).output
            try alice.deleteAndCommit(text, masterVersion: 2)
            try hurry(alice)
            let second = try await page(of: alice, "only the picture") { !$0.contains(names[1]) }

            #expect(waiting == "1")
            #expect(first.contains("Hill &lt;b&gt;walkers&lt;/b&gt;"))
            #expect(!first.contains("<script"))
            #expect(!checked.contains("objectForeign"), "\(checked)")
            #expect(second.contains(names[0]))
            try await eventually("nothing waits") { try pending(alice) == "0" }
        }

        @Test("An unchanged page is not stored again, and renaming a group changes its page")
        func unchanged() async throws {
            let alice = try server.signUpOwningUser(.dropbox, groupName: "Before")
            try alice.publish(TestFile("Hello").stored(at: .dropbox), masterVersion: 0)
            try hurry(alice)
            _ = try await page(of: alice, "the first") { $0.contains("Before") }

            let since = try server.sandbox.lastRequest()
            _ = try server.askDatabase(
                "INSERT INTO outbox (kind, user_id, storage_type, available_at, created_at)"
                    + " VALUES ('writeIndexPage', \(alice.userID), 'Dropbox', UTC_TIMESTAMP(), UTC_TIMESTAMP())")
            try await eventually("the page is written") { try pending(alice) == "0" }
            let uploads = try server.sandbox.requests(since: since).count { $0.path?.text?.contains("upload") == true }
            let reply = try alice.call(
                "PATCH", "UpdateSharingGroup",
                ["sharingGroupUUID": alice.group, "masterVersion": "1", "sharingGroupName": "After"])
            try hurry(alice)
            let renamed = try await page(of: alice, "the new name") { $0.contains("After") }

            #expect(uploads == 0)
            #expect(reply.status == 200, "\(reply)")
            #expect(!renamed.contains("Before"))
        }

        @Test("A page that its owner deleted is written again after the next change", arguments: storages)
        func deleted(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider)
            let (one, two) = (TestFile("one").stored(at: provider), TestFile("two").stored(at: provider))
            try alice.publish(one, masterVersion: 0)
            try hurry(alice)
            _ = try await page(of: alice, "the first") { $0.contains(one.uuid) }

            try server.sandbox.delete(Self.name, in: alice.account)
            try alice.publish(two, masterVersion: 1)
            try hurry(alice)

            _ = try await page(of: alice, "the second") { $0.contains(one.uuid) && $0.contains(two.uuid) }
        }

        @Test("An owner's own file with the page's name is not touched", arguments: storages)
        func ownFile(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider)
            try await eventually("the folder exists") { try !server.sandbox.files(of: alice.account).isEmpty }
            try server.sandbox.store(
                Array("mine".utf8), as: Self.name, in: alice.account, folder: provider == .google ? alice.folder : nil)
            try alice.publish(TestFile("one").stored(at: provider), masterVersion: 0)
            try hurry(alice)
            try await eventually("the work is done") { try pending(alice) == "0" }

            #expect(try pages(of: alice).count == 1)
            #expect(try server.sandbox.contents(of: Self.name, in: alice.account) == Array("mine".utf8))
        }

        @Test("Removing the owner deletes the page but not their files", arguments: storages)
        func leaving(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider)
            let file = TestFile("mine").stored(at: provider)
            try alice.publish(file, masterVersion: 0)
            try hurry(alice)
            _ = try await page(of: alice, "the first") { $0.contains(file.uuid) }

            #expect(try alice.call("POST", "RemoveUser").status == 200)

            try await eventually("the page is deleted") { try pages(of: alice).isEmpty }
            #expect(try alice.stored(file).count == 1)
        }

        @Test("A storage failure does not affect commits, and one page exists in the end", arguments: storages)
        func failingCloud(provider: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(provider)
            let (one, two) = (TestFile("one").stored(at: provider), TestFile("two").stored(at: provider))
            try alice.publish(one, masterVersion: 0)
            try hurry(alice)
            _ = try await page(of: alice, "the first") { $0.contains(one.uuid) }
            try alice.publish(two, masterVersion: 1)
            // The upload takes effect, but its reply is lost.
            let hosts = [
                SandboxProvider.google: "www.googleapis.com", .dropbox: "content.dropboxapi.com",
                .microsoft: "graph.microsoft.com",
            ]
            var fault = SandboxFault(
                host: hosts[provider], method: provider == .microsoft ? "PUT" : "POST", status: 503, times: 1)
            fault.afterEffect = true
            try server.sandbox.inject(fault)
            try hurry(alice)

            _ = try await page(of: alice, "the second") { $0.contains(two.uuid) }
            try await eventually("nothing waits") { try pending(alice) == "0" }
            // The previous page is deleted after the new one has been recorded.
            try await eventually("one page exists") { try pages(of: alice).count == 1 }
            #expect(try server.sandbox.unspentFaults().isEmpty)
        }

        @Test(
            "In a browser, the page of a downloaded folder shows pictures and texts, and no script runs",
            .enabled(if: WebDriverSession.isAvailable))
        func inBrowser() async throws {
            let attack = "</title><script>window.hit = 1</script><img src=x onerror='window.hit = 2'> \u{202E}txet"
            let alice = try server.signUpOwningUser(.dropbox, groupName: attack)
            let files = [
                try picture("lake"), try picture("evening"),
                TestFile("A walk <script>parent.window.hit = 3</script> by the lake"),
            ].map { $0.stored(at: .dropbox) }
            for (version, file) in files.enumerated() { try alice.publish(file, masterVersion: Int64(version)) }
            try hurry(alice)
            _ = try await page(of: alice, "all files") { page in files.allSatisfy { page.contains($0.uuid) } }
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "syncserver-folder-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            for file in try server.sandbox.files(of: alice.account) {
                let bytes = try #require(try server.sandbox.contents(of: file.name, in: alice.account))
                try Data(bytes).write(to: folder.appending(path: file.name))
            }

            let session = try WebDriverSession(["--window-size=420,900"])
            defer { session.end() }
            try session.open(folder.appending(path: Self.name).absoluteString)
            try await eventually("the pictures are loaded") {
                let widths = try session.evaluate("return Array.from(document.images, image => image.naturalWidth)")
                return widths?.array?.count == 2 && widths?.array?.allSatisfy { ($0.integer ?? 0) > 0 } == true
            }
            let text = try session.text(inFrame: "iframe")
            let heading = try session.evaluate("return document.querySelector('h2').textContent")?.text
            let isUntouched = try session.evaluate("return typeof window.hit === 'undefined'")?.bool
            let scripts = try session.evaluate("return document.scripts.length")?.integer
            let overflow = try session.evaluate(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth")?.integer
            if let path = ProcessInfo.processInfo.environment["INDEX_PAGE_SCREENSHOT"] {
                try session.screenshot().write(to: URL(filePath: path))
            }

            #expect(text == "A walk <script>parent.window.hit = 3</script> by the lake")
            #expect(heading == attack.replacingOccurrences(of: "\u{202E}", with: "\\u{202e}"))
            #expect(isUntouched == true)
            #expect(scripts == 0)
            #expect(overflow == 0)
        }
    }
}
