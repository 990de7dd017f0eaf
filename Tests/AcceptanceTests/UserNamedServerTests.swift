import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// The stack admits any public server; hosts below `.sandbox.test` represent them.
    @Suite("User-specified servers")
    struct UserNamedServerTests {
        private static let host = "moto.sandbox.test"
        let server: TestServer

        init() throws {
            server = try TestServer.withNamedServers()
            try server.sandbox.addBackend(host: Self.host, port: try StorageServerProcess.of(.s3Moto).port)
            try server.sandbox.clearFaults()
        }

        private static func account(
            address: String = "https://\(host)", prefix: String = UUID().uuidString
        ) throws -> SandboxAccount {
            try SandboxAccount(inBucketAt: address, prefix: prefix)
        }

        /// The requests to the storage server that `body` causes.
        private func requests(during body: () throws -> Void) throws -> [JSONValue] {
            let before = try server.sandbox.lastRequest()
            try body()
            return try server.sandbox.requests(since: before).filter { $0.host?.text == Self.host }
        }

        @Test("An address that is not a public server's is rejected without a connection")
        func tricks() throws {
            let bait = try LocalHTTPServer { peer in
                while peer.readRequest() != nil { peer.respond() }
            }
            let port = bait.port
            let addresses =
                [
                    "http://127.0.0.1:\(port)", "https://127.0.0.1:\(port)", "https://127.0.0.1",
                    "https://localhost:\(port)", "https://localhost", "https://bait.localhost", "https://0.0.0.0",
                    "https://0x7f.1", "https://0x7f000001", "https://2130706433", "https://0177.0.0.1",
                    "https://127.1", "https://127.0.0.1.", "https://localhost.", "https://[::1]:\(port)",
                    "https://[::1]", "https://[::ffff:127.0.0.1]", "https://[::ffff:7f00:1]", "https://[::]",
                    "https://[64:ff9b::7f00:1]", "https://[2002:7f00:1::1]", "https://[fe80::1]", "https://[fd00::1]",
                    "https://169.254.169.254", "https://[fd00:ec2::254]", "https://10.0.0.1", "https://192.168.0.1",
                    "https://172.16.0.1", "https://100.64.0.1", "https://224.0.0.1", "https://255.255.255.255",
                    "https://8.8.8.8", "http://s3.example.com", "https://s3.example.com:\(port)",
                    "https://s3.example.com:22", "https://user@s3.example.com", "https://s3.example.com@127.0.0.1",
                    "https://127.0.0.1\\@s3.example.com", "https://s3.example.com#@127.0.0.1",
                    "https://s3.example.com?x=", "https://metadata", "https://\u{2460}27.0.0.1",
                    "file:///etc/passwd", "gopher://127.0.0.1:\(port)", "ftp://127.0.0.1:\(port)", "unix:/run/x.sock",
                    "//127.0.0.1:\(port)", "127.0.0.1:\(port)", "",
                ]
            for address in addresses {
                let user = server.newcomer(with: try Self.account(address: address))

                let reply = try user.call("POST", "AddUser", ["sharingGroupUUID": user.group])

                // Text that is not an address gets a different error.
                let isAddress = address.contains("://")
                expectError(reply, isAddress ? 403 : 400)
                #expect(
                    reply.json?.code?.text == (isAddress ? "server_not_allowed" : "malformed_header"),
                    "\(address): \(reply)")
            }
            #expect(bait.connectionCount == 0)
        }

        @Test("The server does not follow redirects of a user-specified server")
        func redirect() throws {
            let bait = try LocalHTTPServer { peer in
                while peer.readRequest() != nil { peer.respond() }
            }
            let redirecting = try LocalHTTPServer { peer in
                while peer.readRequest() != nil {
                    peer.send(
                        "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:\(bait.port)/\r\nContent-Length: 0\r\n\r\n")
                }
            }
            try server.sandbox.addBackend(host: "redirects.sandbox.test", port: redirecting.port)
            let user = server.newcomer(with: try Self.account(address: "https://redirects.sandbox.test"))

            let reply = try user.call("POST", "AddUser", ["sharingGroupUUID": user.group])

            expectError(reply, 400)
            #expect(reply.json?.error?.text?.contains("without an S3 service (status 307)") == true, "\(reply)")
            #expect(redirecting.connectionCount > 0)
            #expect(bait.connectionCount == 0)
        }

        @Test("The error for malformed account details names the mistake")
        func malformed() throws {
            let user = server.newcomer(
                with: try Self.account().replacing(header: "X-account-details", with: #"{"address": 1}"#))

            let reply = try user.call("POST", "AddUser", ["sharingGroupUUID": user.group])

            expectError(reply, 400)
            #expect(reply.json?.code?.text == "malformed_header")
        }

        @Test("With a bucket, sign-up, upload, commit, download and deletion work; 2 MB take one request")
        func wholeLife() async throws {
            let prefix = UUID().uuidString
            let user = try server.signUp(try Self.account(prefix: prefix))
            let moto = try S3Bucket(.s3Moto)
            // The warning file is not counted.
            try await eventually("the warning file is stored") { try moto.objects(behind: prefix + "/").count == 1 }
            let photo = TestFile(randomBytes: 2_000_000)
            let film = TestFile(randomBytes: 12_000_000)

            let small = try requests {
                let reply = try user.upload(photo, masterVersion: 0)
                #expect(reply.status == 200, "\(reply)")
            }
            let large = try requests {
                let reply = try user.upload(film, masterVersion: 0)
                #expect(reply.status == 200, "\(reply)")
            }
            #expect(
                try user.call(
                    "POST", "DoneUploads",
                    [
                        "sharingGroupUUID": user.group, "masterVersion": "0",
                    ]
                ).status == 200)

            #expect(small.map { $0.method?.text } == ["PUT"])
            #expect((2...3).contains(large.filter { $0.method?.text == "PUT" }.count))
            #expect(try moto.unfinishedUploads(behind: prefix + "/") == 0)
            #expect(try moto.objects(behind: prefix + "/").count == 3)
            for file in [photo, film] {
                let reply = try user.call(
                    "GET", "DownloadFile",
                    [
                        "fileUUID": file.uuid, "sharingGroupUUID": user.group, "fileVersion": "0",
                        "masterVersion": "1",
                    ])
                #expect(reply.status == 200 && reply.body == file.contents)
            }
            #expect(try user.index().files.compactMap { $0.cloudStorageType?.text } == ["S3", "S3"])

            for file in [photo, film] {
                #expect(
                    try user.call(
                        "DELETE", "UploadDeletion",
                        [
                            "fileUUID": file.uuid, "sharingGroupUUID": user.group, "fileVersion": "0",
                            "masterVersion": "1",
                        ]
                    ).status == 200)
            }
            #expect(
                try user.call(
                    "POST", "DoneUploads",
                    [
                        "sharingGroupUUID": user.group, "masterVersion": "1",
                    ]
                ).status == 200)
            try await eventually("the objects are deleted") { try moto.objects(behind: prefix + "/").count == 1 }
        }

        @Test("With a bucket, each of many small files in one request takes one request to the service")
        func smallFiles() throws {
            let user = try server.signUp(try Self.account())
            let files = (0..<12).map { TestFile(randomBytes: $0 * 997) }

            let made = try requests {
                let results = try user.stage(SmallFilesForm(files, by: user, masterVersion: 0))
                #expect(results.allSatisfy { $0.status?.integer == 200 }, "\(results)")
            }

            #expect(made.count { $0.method?.text == "PUT" && $0.path?.text?.hasSuffix("README.txt") != true } == 12)
            #expect(try user.commitStaged(masterVersion: 0) == 12)
            for file in files { #expect(try user.download(file, masterVersion: 1).body == file.contents) }
        }

        @Test("A file that its owner replaced with another program is served, even if the service has no hash of it")
        func replaced() throws {
            let prefix = UUID().uuidString
            let user = try server.signUp(try Self.account(prefix: prefix))
            let moto = try S3Bucket(.s3Moto)
            var file = TestFile("as the app left it")
            #expect(try user.upload(file, masterVersion: 0).status == 200)
            #expect(try user.commitStaged(masterVersion: 0) == 1)
            let name = file.cloudName(device: user.device)
            #expect(try moto.read("\(prefix)/\(name)") == file.contents)

            file.contents = Array("as the owner changed it".utf8)
            try moto.writeInParts(file.contents, "\(prefix)/\(name)")

            // The server reads the object while it asks for the description, and again after that named other contents.
            // The first download also reads it for its hash, which is cached afterwards.
            for readings in [3, 2] {
                var reply: HTTPReply?
                let asked = try requests {
                    reply = try user.call(
                        "GET", "DownloadFile",
                        [
                            "fileUUID": file.uuid, "sharingGroupUUID": user.group, "fileVersion": "0",
                            "masterVersion": "1",
                        ])
                }.filter {
                    $0.path?.text?.hasSuffix(name) == true && $0.method?.text == "GET"
                        && $0.responseBytes?.integer == Int64(file.contents.count)
                }
                #expect(reply?.status == 200 && reply?.body == file.contents, "\(String(describing: reply))")
                #expect(reply?.messageParameters?.contentsChanged?.bool == true)
                #expect(reply?.messageParameters?.checkSum?.text == file.checkSum)
                #expect(asked.count <= readings, "\(asked)")
            }
        }

        @Test("A key revoked between two uploads leads to 410 after few requests, and others are unaffected")
        func revoked() async throws {
            let user = try server.signUp(try Self.account())
            let neighbour = try server.signUp(try Self.account(address: "https://\(Self.host)"))
            let google = try server.signUpOwningUser(.google)
            #expect(try user.upload(TestFile(), masterVersion: 0).status == 200)
            let prefix = user.account.name
            var fault = SandboxFault(host: Self.host, pathPrefix: "/\(S3Bucket.name)/\(prefix)", status: 403)
            fault.reason = "InvalidAccessKeyId"
            try server.sandbox.inject(fault)

            for file in [TestFile(), TestFile(randomBytes: 12_000_000)] {
                let asked = try requests {
                    let reply = try user.upload(file, masterVersion: 0)
                    expectError(reply, 410, goneReason: "authTokenExpiredOrRevoked")
                    #expect(reply.json?.code?.text == "cloud_authorization_revoked")
                }
                // The upload's request, and those of the jobs role, which looks for leftovers under each of the two
                // names.
                #expect(asked.filter { $0.path?.text?.contains(prefix) == true }.count <= 3)
            }
            #expect(try neighbour.upload(TestFile(), masterVersion: 0).status == 200)
            #expect(try google.upload(TestFile(), masterVersion: 0).status == 200)

            try server.sandbox.clearFaults()
            #expect(try user.upload(TestFile(), masterVersion: 0).status == 200)
        }
    }
}
