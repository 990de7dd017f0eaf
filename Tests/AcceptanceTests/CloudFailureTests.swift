import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Failures of the cloud storage")
    final class CloudFailureTests: Sendable {
        let server: TestServer
        static let uploads = "/upload/drive/v3/files"
        static let files = "/drive/v3/files"

        init() throws {
            server = try TestServer.withFaults()
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        /// Clears the faults, and expects that each has occurred; otherwise the test would prove nothing.
        func clearFaults() throws {
            let idle = try server.sandbox.faultsThatNeverStruck()
            #expect(idle == 0)
            try server.sandbox.clearFaults()
        }

        /// Expects that an upload fails with one of these statuses before a phone would time out, leaves nothing
        /// behind, and succeeds once the storage works again.
        func expectFailedUpload(
            by alice: TestUser, _ statuses: Int..., file: TestFile = TestFile(randomBytes: 6_000_000)
        ) async throws {
            let begin = ContinuousClock.now
            let reply = try await Threads.run { [alice] in try alice.upload(file, masterVersion: 0) }

            expectError(reply, oneOf: statuses)
            #expect(ContinuousClock.now - begin < .seconds(50))
            #expect(try alice.stagedUploads().isEmpty)
            try clearFaults()
            try await eventually("no object is left") { try alice.stored(file).isEmpty }
            try alice.publish(file, masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        /// Expects that an upload succeeds despite the fault, with exactly one object.
        func expectUpload(by alice: TestUser, _ file: TestFile = TestFile(randomBytes: 6_000_000)) async throws {
            let reply = try await Threads.run { [alice] in try alice.upload(file, masterVersion: 0) }

            #expect(reply.status == 200, "\(reply)")
            try clearFaults()
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            try await eventually("one object exists") {
                try alice.stored(file).map(\.name) == [file.cloudName(device: alice.device)]
            }
        }

        // CloudStorageTests repeat this, and lost replies, with all statuses and every request of an upload.
        @Test("Occasional errors are handled by retries", arguments: [(500, "POST"), (503, "PUT")])
        func passingError(status: Int, method: String) async throws {
            let alice = try await server.signUpSettledUser()
            try server.sandbox.inject(
                SandboxFault(pathPrefix: Self.uploads, method: method, status: status, times: 1))

            try await expectUpload(by: alice)
        }

        @Test("A permanent error is a retryable 502, and leaves nothing behind [129]")
        func lastingError() async throws {
            let alice = try await server.signUpSettledUser()
            try server.sandbox.inject(SandboxFault(pathPrefix: Self.uploads, status: 500))

            try await expectFailedUpload(by: alice, 502, 504)
        }

        @Test("A permanent error from the first byte on leaves nothing behind [129]")
        func lastingErrorWhileSending() async throws {
            let alice = try await server.signUpSettledUser()
            try server.sandbox.inject(SandboxFault(pathPrefix: Self.uploads, method: "PUT", status: 503))

            try await expectFailedUpload(by: alice, 502, 504)
        }

        @Test(
            "A lost reply to any step of an upload does not create a second object [F26]",
            arguments: [(50_000, 0, 503), (6_000_000, 0, nil), (6_000_000, 2, nil)] as [(Int, Int, Int?)])
        func lostReply(bytes: Int, step: Int, status: Int?) async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads, status: status, times: 1)
            fault.skip = step
            fault.afterEffect = true
            try server.sandbox.inject(fault)

            try await expectUpload(by: alice, TestFile(randomBytes: bytes))
        }

        @Test("After a lost reply in the middle of a large upload, the server resumes it at the same offset")
        func lostReplyInTheMiddle() async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads, method: "PUT", times: 1)
            fault.afterEffect = true
            try server.sandbox.inject(fault)

            try await expectUpload(by: alice, TestFile(randomBytes: 6_000_000))
        }

        @Test("A connection lost during a transfer is re-established")
        func cutConnection() async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads, method: "PUT", times: 1)
            fault.resetAfterBytes = 100_000
            try server.sandbox.inject(fault)

            try await expectUpload(by: alice, TestFile(randomBytes: 6_000_000))
        }

        @Test("An upload with a bit flipped on the way to the storage is never committed")
        func corruptUpload() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile(randomBytes: 200_000)
            var fault = SandboxFault(pathPrefix: Self.uploads, times: 1)
            fault.corruptAtByte = 1_000
            try server.sandbox.inject(fault)

            let reply = try await Threads.run { try alice.upload(file, masterVersion: 0) }

            if reply.status == 200 {
                try alice.commitStaged(masterVersion: 0)
                expectDownload(try alice.download(file, masterVersion: 1), of: file)
            } else {
                expectError(reply, 502)
                #expect(try alice.stagedUploads().isEmpty)
                try await eventually("no object is left") { try alice.stored(file).isEmpty }
            }
        }

        @Test("A token that expires during an upload is refreshed, and no byte is lost [21]")
        func tokenDiesInTheMiddle() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile(randomBytes: 9_000_000)
            let query = ClientQuery.text(alice.uploadParameters(file, masterVersion: 0))
            let call = HTTPCall("POST", "/UploadFile/\(query)", headers: alice.headers)
            var conversation = try HTTPConversation(to: server.address)

            try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
            try conversation.send(file.contents.prefix(4_500_000))
            try server.sandbox.expireAccessTokens(of: alice.account, .server)
            try conversation.send(file.contents.dropFirst(4_500_000))

            let reply = try conversation.reply()
            #expect(reply.status == 200, "\(reply)")
            try alice.commitStaged(masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("Rate limits are respected, and the request succeeds [F28]", arguments: [429, 403])
        func rateLimited(status: Int) async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads, status: status, times: 2)
            fault.reason = "userRateLimitExceeded"
            fault.retryAfter = 1
            try server.sandbox.inject(fault)

            try await expectUpload(by: alice)
        }

        @Test("A delay beyond the request's deadline is an immediate 502")
        func longRetryAfter() async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads, status: 429)
            fault.retryAfter = 600
            try server.sandbox.inject(fault)
            let begin = ContinuousClock.now

            try await expectFailedUpload(by: alice, 502)

            #expect(ContinuousClock.now - begin < .seconds(30))
        }

        @Test("A full storage is a 507, and leaves nothing behind")
        func quota() async throws {
            let alice = try await server.signUpSettledUser(quotaBytes: 1_000_000)
            let file = TestFile(randomBytes: 2_000_000)

            expectError(try alice.upload(file, masterVersion: 0), 507)

            #expect(try alice.stagedUploads().isEmpty)
            #expect(try alice.stored(file).isEmpty)
            try alice.publish(TestFile("small enough"), masterVersion: 0)
        }

        @Test("A storage that becomes full at the last byte is also a 507")
        func quotaAtTheEnd() async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads, method: "PUT", status: 403)
            fault.reason = "storageQuotaExceeded"
            try server.sandbox.inject(fault)

            try await expectFailedUpload(by: alice, 507)
        }

        @Test(
            "With a revoked authorisation, uploads get 410, downloads gone with metadata and no body [130] [232] [233]"
        )
        func revoked() async throws {
            let alice = try await server.signUpSettledUser()
            let bob = try alice.newMember(.write)
            let file = TestFile()
            try alice.publish(file, masterVersion: 1, metadata: TestMetadata(0, "about it"))
            try server.sandbox.revoke(alice.account, .server)

            for _ in 0..<2 {
                let upload = try bob.upload(TestFile("new"), masterVersion: 2)
                expectError(upload, 410, goneReason: "authTokenExpiredOrRevoked")
            }
            let download = try bob.download(file, masterVersion: 2, metadataVersion: 0)

            #expect(download.status == 200 && download.body.isEmpty)
            #expect(
                download.messageParameters
                    == .object([
                        "gone": .string("authTokenExpiredOrRevoked"), "appMetaData": .string("about it"),
                        "cloudStorageType": .string("Google"),
                    ]))
            #expect(try bob.commitStaged(masterVersion: 2) == 0)
        }

        @Test("After a new sign-in with a code, the revoked storage works again")
        func signInAgain() async throws {
            var alice = try await server.signUpSettledUser()
            try server.sandbox.revoke(alice.account, .server)
            expectError(try alice.upload(TestFile(), masterVersion: 0), 410, goneReason: "authTokenExpiredOrRevoked")

            alice.account = try server.sandbox.newAuthorizationCode(of: alice.account)
            expectJSON(try alice.checkCredentials())

            try alice.publish(TestFile(), masterVersion: 0)
        }

        @Test("An unavailable token service is not treated as a revoked authorisation")
        func refreshFails() async throws {
            let alice = try await server.signUpSettledUser()
            try server.sandbox.expireAccessTokens(of: alice.account, .server)
            try server.sandbox.inject(
                SandboxFault(host: "oauth2.googleapis.com", pathPrefix: "/token", method: "POST", status: 503))

            try await expectFailedUpload(by: alice, 502, 504)
        }

        @Test("A storage that does not reply is a 502 or 504 within the request's deadline")
        func noAnswer() async throws {
            let alice = try await server.signUpSettledUser()
            var fault = SandboxFault(pathPrefix: Self.uploads)
            fault.latencyMilliseconds = 70_000
            try server.sandbox.inject(fault)

            try await expectFailedUpload(by: alice, 502, 504)
        }

        @Test("A download interrupted by the storage arrives complete or visibly broken, never wrong")
        func truncatedDownload() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile(randomBytes: 2_000_000)
            try alice.publish(file, masterVersion: 0)
            var fault = SandboxFault(pathPrefix: Self.files, method: "GET", times: 2)
            fault.truncateAfterBytes = 500_000
            try server.sandbox.inject(fault)

            try await expectIntactOrBroken(alice, file)
        }

        @Test("A download with a flipped bit is never completed")
        func corruptDownload() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile(randomBytes: 2_000_000)
            try alice.publish(file, masterVersion: 0)
            var fault = SandboxFault(pathPrefix: Self.files, method: "GET")
            fault.corruptAtByte = 1_000_000
            try server.sandbox.inject(fault)

            try await expectIntactOrBroken(alice, file)
        }

        func expectIntactOrBroken(_ alice: TestUser, _ file: TestFile) async throws {
            let reply = try? await Threads.run { try alice.download(file, masterVersion: 1) }

            if let reply, reply.status == 200, reply.isComplete {
                expectDownload(reply, of: file)
            } else if let reply, reply.status != 200 {
                expectError(reply, 502, 504)
            }
            try clearFaults()
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("A storage failure during a download is a 502, never gone")
        func downloadFails() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile()
            try alice.publish(file, masterVersion: 0)
            try server.sandbox.inject(SandboxFault(pathPrefix: Self.files, status: 500))

            let reply = try await Threads.run { try alice.download(file, masterVersion: 1) }

            expectError(reply, 502, 504)
            #expect(reply.json?.retryable == .bool(true))
            try clearFaults()
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("A temporarily missing object is found by a second request")
        func missingForAMoment() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile()
            try alice.publish(file, masterVersion: 0)
            try server.sandbox.inject(SandboxFault(pathPrefix: Self.files, method: "GET", status: 404, times: 1))

            expectDownload(try await Threads.run { try alice.download(file, masterVersion: 1) }, of: file)
        }
    }
}
