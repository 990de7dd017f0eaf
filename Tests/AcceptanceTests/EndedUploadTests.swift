import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// Uploads in pieces, or to an address of the storage, that can no longer succeed.
    @Suite("Uploads that cannot be finished", .serialized)
    final class EndedUploadTests: Sendable {
        private static let stack = Result {
            try TestServer(PrivateStack("ended", responders: 1, overrides: #"{"directTransfers": true}"#))
        }
        private static let storages: [SandboxProvider] = [.google, .dropbox, .microsoft]

        private let server: TestServer

        init() throws {
            server = try Self.stack.get()
            try server.sandbox.clearFaults()
            try server.sandbox.clearViolations()
        }

        deinit {
            try? server.sandbox.setClock(offsetSeconds: 0)
        }

        private struct Begun {
            let calls: PieceCalls
            let address: JSONValue?
        }

        private func begin(
            _ file: TestFile, _ user: TestUser, of group: String? = nil, masterVersion: Int64, isDirect: Bool = false
        ) throws -> Begun {
            let hash = file.storage == .microsoft ? Checksum.quickXor(file.contents) : nil
            let headers = user.headers + [(name: "Upload-Draft-Interop-Version", value: "6")]
            let reply = try server.call(
                "POST", "CreateUpload",
                user.uploadParameters(
                    file, masterVersion: masterVersion, group: group,
                    overriding: ["direct": isDirect ? "true" : nil, "storageHash": isDirect ? hash : nil]),
                headers: headers + [(name: "Upload-Length", value: "\(file.contents.count)")])
            return Begun(
                calls: try PieceCalls(reply, headers: user.headers), address: reply.messageParameters?.directUpload)
        }

        private func perform(_ call: HTTPCall, _ body: ArraySlice<UInt8> = []) throws -> HTTPReply {
            var call = call
            call.body = Array(body)
            return try server.address.perform(call)
        }

        private func file(_ storage: SandboxProvider) -> TestFile {
            TestFile(randomBytes: 3_000_000).stored(at: storage)
        }

        /// The requests with file contents that the storage has received since `request`.
        private func bytesSent(since request: Int64) throws -> [JSONValue] {
            try server.sandbox.requests(since: request).filter { request in
                let (host, path) = (request.host?.text ?? "", request.path?.text ?? "")
                guard ["PUT", "POST", "PATCH"].contains(request.method?.text) else { return false }
                return host.hasPrefix("content.") || path.contains("pload") || request.method?.text == "PUT"
            }
        }

        private func deletions(in owner: TestUser) throws -> String {
            try server.askDatabase(
                "SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND user_id = \(owner.userID)")
        }

        /// Waits until the owner's storage contains no uploaded object, and no work for it is pending.
        private func expectNothingLeft(in owner: TestUser) async throws {
            try await eventually("nothing is left") {
                try server.sandbox.files(of: owner.account).filter { $0.size >= 700_000 }.isEmpty
                    && deletions(in: owner) == "0"
                    && server.askDatabase(
                        "SELECT COUNT(*) FROM resumable_uploads WHERE owning_user_id = \(owner.userID)") == "0"
            }
        }

        private enum Ending: String, CaseIterable {
            case ownerLeaves, ownerIsRemoved, ownerDeletesAccount
        }

        private func end(_ ending: Ending, of owner: TestUser, by admin: TestUser, masterVersion: Int64) throws {
            let reply =
                switch ending {
                case .ownerLeaves: try owner.leave(masterVersion: masterVersion)
                case .ownerIsRemoved:
                    try admin.call(
                        "POST", "RemoveSharingGroupMember",
                        [
                            "sharingGroupUUID": owner.group, "userId": "\(owner.userID)",
                            "masterVersion": "\(masterVersion)",
                        ])
                case .ownerDeletesAccount: try owner.removeAccount()
                }
            #expect(reply.status == 200, "\(reply)")
        }

        /// Expects 410, or 404 once the jobs role has deleted the upload.
        private func expectRefusal(
            of call: HTTPCall, _ masterVersion: String = "", _ body: ArraySlice<UInt8> = [],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            var call = call
            call.target += masterVersion
            let reply = try perform(call, body)
            expectError(
                reply, 410, 404, goneReason: reply.status == 410 ? "userRemoved" : nil, sourceLocation: sourceLocation)
        }

        // MARK: The phone does not return

        @Test(
            "A deletion waits neither for an overtaken upload nor for an unused address",
            arguments: [SandboxProvider.dropbox, .microsoft, .webdav])
        private func deletion(storage: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(storage)
            let (complete, unused, doomed) = (file(storage), file(storage), TestFile("doomed").stored(at: storage))
            let overtaken = try begin(complete, alice, masterVersion: 0)
            let begun = try perform(overtaken.calls.append(from: 0, isLast: false), complete.contents[..<1_048_576])
            let middle = try #require(begun.values(of: "upload-offset").first.flatMap { Int($0) })
            try alice.publish(TestFile("other").stored(at: storage), masterVersion: 0)
            expectStale(try perform(overtaken.calls.append(from: middle), complete.contents[middle...]), 1)
            if storage != .webdav {
                #expect(try begin(unused, alice, masterVersion: 1, isDirect: true).address != nil)
            }
            try alice.stage(doomed, masterVersion: 1)
            #expect(try alice.stored(doomed).count == 1)

            #expect(try alice.call("POST", "DiscardUploads", ["sharingGroupUUID": alice.group]).status == 200)

            try await eventually("the discarded object is deleted") { try alice.stored(doomed).isEmpty }
            // The overtaken upload can still be staged.
            var late = overtaken.calls.append(from: complete.contents.count)
            late.target += "&masterVersion=1"
            #expect(try perform(late).status == 200)
        }

        // MARK: The owner has left

        @Test(
            "Every request of an upload into a departed owner's storage is rejected, and no byte reaches the storage",
            arguments: storages, Ending.allCases)
        private func pieces(storage: SandboxProvider, ending: Ending) async throws {
            let alice = try server.signUpOwningUser(storage)
            // Later, the jobs role's upload would be taken for one that this test forbids.
            try await eventually("the warning file is stored") {
                try !server.sandbox.files(of: alice.account).isEmpty
            }
            let bob = try alice.newMember(.admin)
            let (first, second, complete) = (file(storage), file(storage), file(storage))
            let upload = try begin(first, bob, masterVersion: 1)
            let piece = try perform(upload.calls.append(from: 0, isLast: false), first.contents[..<1_048_576])
            #expect(piece.status == 204, "\(piece)")
            let offset = try #require(piece.values(of: "upload-offset").first.flatMap { Int($0) })
            // All bytes of this upload have arrived, but another change was faster.
            let overtaken = try begin(complete, bob, masterVersion: 1)
            let begun = try perform(overtaken.calls.append(from: 0, isLast: false), complete.contents[..<1_048_576])
            let middle = try #require(begun.values(of: "upload-offset").first.flatMap { Int($0) })
            try alice.publish(TestFile("other").stored(at: storage), masterVersion: 1)
            expectStale(try perform(overtaken.calls.append(from: middle), complete.contents[middle...]), 2)
            let untouched = try begin(second, bob, masterVersion: 2)
            let before = try server.sandbox.lastRequest()

            try end(ending, of: alice, by: bob, masterVersion: 2)

            let rest = first.contents[offset...]
            for masterVersion in ["", "&masterVersion=3"] {
                try expectRefusal(of: upload.calls.append(from: offset), masterVersion, rest)
                try expectRefusal(of: overtaken.calls.append(from: complete.contents.count), masterVersion)
            }
            try expectRefusal(of: untouched.calls.append(from: 0), "&masterVersion=3", second.contents[...])
            let sent = try bytesSent(since: before)
            #expect(sent.isEmpty, "\(sent)")
            _ = try perform(untouched.calls.abandoned)
            try await expectNothingLeft(in: alice)
            #expect(try bob.stagedUploads().isEmpty)
        }

        @Test(
            "A member's upload address for a departing owner's storage becomes invalid", arguments: storages,
            Ending.allCases)
        private func address(storage: SandboxProvider, ending: Ending) async throws {
            let alice = try server.signUpOwningUser(storage)
            let bob = try alice.newMember(.admin)
            let file = file(storage)
            let upload = try begin(file, bob, masterVersion: 1, isDirect: true)
            let address = try #require(upload.address)

            try end(ending, of: alice, by: bob, masterVersion: 1)

            if storage == .dropbox {
                // A link cannot be revoked; the server deletes bytes that arrive through it.
                #expect(try server.send(file.contents, toStorage: address) == 200)
                guard ending != .ownerDeletesAccount else { return }
            } else {
                try await eventually("the session has ended") { try deletions(in: alice) == "0" }
                #expect(try server.send(file.contents, toStorage: address) >= 400)
                try server.sandbox.clearViolations()
            }
            try expectRefusal(of: upload.calls.confirmed(ofBytes: file.contents.count))
            // The link has expired.
            _ = try server.askDatabase(
                "UPDATE resumable_uploads SET direct_until = UTC_TIMESTAMP() WHERE owning_user_id = \(alice.userID)")
            _ = try server.askDatabase(
                "UPDATE outbox SET available_at = UTC_TIMESTAMP() WHERE user_id = \(alice.userID)")
            try await expectNothingLeft(in: alice)
        }

        @Test(
            "A member's upload address becomes invalid when they leave or the group is removed",
            arguments: [true, false])
        func addressOfFormerMember(isGroupRemoved: Bool) async throws {
            let alice = try server.signUpOwningUser(.google)
            let bob = try alice.newMember(.write)
            let file = file(.google)
            let upload = try begin(file, bob, masterVersion: 1, isDirect: true)
            let elsewhere = try alice.newGroup()
            let kept = self.file(.google)
            let own = try begin(kept, alice, of: elsewhere, masterVersion: 0, isDirect: true)

            let reply = try isGroupRemoved ? alice.removeGroup(masterVersion: 1) : bob.leave(masterVersion: 1)

            #expect(reply.status == 200, "\(reply)")
            try await eventually("the session has ended") {
                try server.send(file.contents, toStorage: #require(upload.address)) >= 400
            }
            try server.sandbox.clearViolations()
            // The owner's upload in another group is not affected.
            #expect(try server.send(kept.contents, toStorage: #require(own.address)) == 200)
            #expect(try perform(own.calls.confirmed(ofBytes: kept.contents.count)).status == 200)
        }
    }
}
