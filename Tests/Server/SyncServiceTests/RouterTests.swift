import Foundation
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Router")
struct RouterTests {
    private let phone = Phone(name: "alice", accountType: .google)

    // MARK: Order of checks

    @Test(
        "A request with two mistakes is rejected for its path, then token, then device, then parameters, then the rest"
    )
    func orderOfChecks() throws {
        // Without a database: a check that uses it too early gets 503.
        let server = try TestServer(withDatabase: false)
        let good = phone.headers
        let tooLong = "good " + String(repeating: "x", count: 256)
        let cases: [(method: String, path: String, query: String, headers: [RequestHeader: String], code: String)] = [
            ("GET", "/Nowhere/", "", [:], "endpoint_unknown"),
            ("GET", "/CheckPrimaryCreds/", "", [:], "credentials_missing"),
            ("GET", "/index/", "", good, "endpoint_unknown"),
            ("POST", "/Index/", "%%", [:], "method_not_allowed"),
            ("GET", "/Index/", "%%", [:], "credentials_missing"),
            ("GET", "/Index/", "%%", [.tokenType: "GoogleToken"], "credentials_missing"),
            ("GET", "/Index/", "%%", [.tokenType: "GoogleToken", .accessToken: ""], "credentials_missing"),
            ("GET", "/Index/", "%%", [.tokenType: "NoToken", .accessToken: "x"], "sign_in_type_not_allowed"),
            ("GET", "/Index/", "%%", good.merging([.accessToken: "good a, good b"]) { $1 }, "malformed_header"),
            ("GET", "/Index/", "%%", good.merging([.accessToken: "bad, bad"]) { $1 }, "credentials_rejected"),
            ("GET", "/Index/", "%%", [.tokenType: "DropboxToken", .accessToken: "x"], "sign_in_type_not_allowed"),
            ("GET", "/Index/", "%%", [.tokenType: "GoogleToken", .accessToken: "bad"], "credentials_rejected"),
            ("GET", "/Index/", "%%", good.merging([.accessToken: "down"]) { $1 }, "provider_unavailable"),
            // A provider returns a user identifier that cannot be stored.
            ("GET", "/Index/", "%%", good.merging([.accessToken: "good "]) { $1 }, "provider_unavailable"),
            ("GET", "/Index/", "%%", good.merging([.accessToken: tooLong]) { $1 }, "provider_unavailable"),
            ("GET", "/Index/", "%%", good.merging([.accessToken: "slow"]) { $1 }, "cloud_timeout"),
            ("GET", "/Index/", "%%", good.merging([.accessToken: "misconfigured"]) { $1 }, "provider_misconfigured"),
            ("GET", "/Index/", "%%", good.filter { $0.key != .deviceUUID }, "missing_header"),
            ("GET", "/Index/", "%%", good.merging([.deviceUUID: "phone"]) { $1 }, "malformed_header"),
            ("GET", "/Index/", "%%", good.merging([.redirectURI: "http://192.0.2.1:80/"]) { $1 }, "malformed_header"),
            ("GET", "/Index/", "%%", good.merging([.codeVerifier: "short"]) { $1 }, "malformed_header"),
            ("GET", "/Index/", "sharingGroupUUID=%%", good, "malformed_query"),
            ("POST", "/DoneUploads/", "sharingGroupUUID=x", good, "missing_parameter"),
            ("POST", "/DoneUploads/", "sharingGroupUUID=x&masterVersion=-1", good, "malformed_parameter"),
            ("GET", "/Index/", "", good, "database_unavailable"),
            ("GET", "/HealthCheck/", "", [:], "database_unavailable"),
            ("GET", "/GetSharingInvitationInfo/", "sharingInvitationUUID=x", [:], "malformed_parameter"),
        ]
        for (method, path, query, headers, code) in cases {
            let reply = server.send(method, path, query: query, headers: headers)
            #expect(reply.code == code, "\(method) \(path) \(query) \(headers)")
            #expect(reply.end == .finished)
        }
    }

    @Test("A token that arrived under both names of its header, joined by nginx 1.23 and later, is one token")
    func bothSpellings() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        let token = try #require(alice.headers[.accessToken])
        let twice = server.send(IndexRequest(), as: alice, adding: [.accessToken: "\(token), \(token)"])
        #expect(twice.status == 200, "\(twice.json)")
    }

    @Test("If a token type arrives without a token, the rejection mentions that proxies may drop headers")
    func droppedToken() throws {
        let server = try TestServer(withDatabase: false)
        let dropped = server.send("GET", "/Index/", headers: [.tokenType: "GoogleToken"])
        #expect(dropped.code == "credentials_missing")
        #expect((dropped.json["error"] as? String)?.contains("a proxy may have dropped it") == true)
        let absent = server.send("GET", "/Index/")
        #expect((absent.json["error"] as? String)?.contains("proxy") == false)
    }

    @Test("The address of an upload in pieces is below the public address, or below the one that the web server saw")
    func publicURL() throws {
        for (publicURL, expected) in [
            (String?.none, "http://10.0.0.7:8080/internal/Upload?uploadUUID="),
            ("https://sync.example.com/below", "https://sync.example.com/below/Upload?uploadUUID="),
        ] {
            let server = try TestServer(publicURL: publicURL)
            let alice = try server.signUp()
            let upload = UploadFileRequest.of(someFile(), [1], version: 0, master: 0, in: alice.group)
            let connection = FakeConnection()
            server.router.handle(
                RequestHead(
                    method: "POST", path: "/CreateUpload", query: upload.encodedQuery, contentLength: 0,
                    requestID: "request-1",
                    headers: alice.headers.merging([.uploadLength: "1", .uploadDraftInteropVersion: "6"]) { $1 },
                    address: "http://10.0.0.7:8080/internal/CreateUpload"), on: connection, transport: .unused)
            #expect(connection.status == 201, "\(connection.json)")
            #expect(
                connection.header("location")?.hasPrefix(expected) == true, "\(connection.header("location") ?? "-")")
        }
    }

    @Test("An unknown user is rejected before anything about groups and files is revealed")
    func unknownUser() throws {
        let server = try TestServer()

        #expect(server.commit(from: 0, by: phone).code == "user_unknown")
        let alice = try server.signUp()
        #expect(
            server.commit(from: 0, by: Phone(name: "bob", accountType: .google, group: alice.group)).code
                == "user_unknown")
        _ = try server.signUp("bob")
        let bob = Phone(name: "bob", accountType: .google, group: alice.group)
        #expect(server.commit(from: 0, by: bob).code == "not_a_member")
        #expect(server.send(IndexRequest(sharingGroupUUID: alice.group), as: bob).code == "group_unknown")
    }

    // MARK: Debugging builds

    #if DEBUG
        @Test("A debugging build fails any request that has the failure header [8]")
        func failureHeader() throws {
            let server = try TestServer()
            let alice = try server.signUp()

            for (method, path, headers) in [("GET", "/HealthCheck/", [:]), ("GET", "/Index/", alice.headers)] {
                for value in ["1", "0", "anything"] {
                    let reply = server.send(
                        method, path, headers: headers.merging([.failureTest: value]) { $1 })
                    #expect(reply.status == 500 && reply.code == "internal")
                }
                #expect(server.send(method, path, headers: headers).status == 200)
            }
            // A request that is rejected for another reason gets that reason.
            #expect(server.send("GET", "/Index/", headers: [.failureTest: "1"]).code == "credentials_missing")
        }

        @Test("A debugging build reports whether a token is valid, for users and others [17] [18] [19] [20]")
        func checkPrimaryCreds() throws {
            let server = try TestServer()

            let good = server.send("GET", "/CheckPrimaryCreds/", headers: phone.headers)
            #expect(good.status == 200 && String(decoding: good.body, as: UTF8.self) == "{}")
            let bad = server.send(
                "GET", "/CheckPrimaryCreds/", headers: phone.headers.merging([.accessToken: "bad"]) { $1 })
            #expect(bad.code == "credentials_rejected")
            #expect(server.send("POST", "/CheckPrimaryCreds/", headers: phone.headers).code == "method_not_allowed")
            #expect(server.send("GET", "/CheckPrimaryCred/", headers: phone.headers).code == "endpoint_unknown")
        }
    #endif

    // MARK: Form of replies

    @Test("Every reply has each of its headers exactly once, and the length of its body")
    func headers() throws {
        let server = try TestServer(minimumIOSClientVersion: "0.9.0")
        let alice = try server.signUp()
        let bytes = someBytes(100_000)
        let file = someFile()
        let replies = [
            ("HealthCheck", server.send("GET", "/HealthCheck/")), ("error", server.send("PUT", "/Index/")),
            ("401", server.send("GET", "/Index/")), ("Index", server.send(IndexRequest(), as: alice)),
            ("upload", server.upload(bytes, of: file, by: alice)), ("commit", server.commit(from: 0, by: alice)),
            (
                "download",
                server.send(
                    DownloadFileRequest(
                        fileUUID: file, fileVersion: .first, masterVersion: MasterVersion(1),
                        sharingGroupUUID: alice.group), as: alice)
            ),
        ]
        for (name, reply) in replies {
            let names = reply.headers.map(\.name)
            #expect(Set(names).count == names.count, "\(name): \(names)")
            #expect(names.allSatisfy { $0 == $0.lowercased() }, "\(name): \(names)")
            #expect(reply.header("syncserver-version") == "1.2.3", "\(name)")
            #expect(reply.header("syncserver-minimum-ios-client-app-version") == "0.9.0", "\(name)")
            #expect(reply.header("content-length") == "\(reply.body.count)", "\(name)")
            #expect(reply.starts == 1 && reply.end == .finished, "\(name)")
        }
        #expect(replies.last?.1.body == bytes)
    }

    @Test("An error contains its code twice and the request id, is below 1 KiB, and 405 names the method")
    func errorBody() throws {
        let server = try TestServer(withDatabase: false)

        let reply = server.send("PUT", "/Index/")

        #expect(reply.status == 405)
        #expect(reply.header("allow") == "GET")
        #expect(reply.header("content-type") == "application/json")
        #expect(reply.header("syncserver-error-code") == "method_not_allowed")
        #expect(reply.code == "method_not_allowed")
        #expect(reply.json["requestId"] as? String == "request-1")
        #expect(reply.json["retryable"] as? Bool == false)
        #expect(reply.json["goneReason"] == nil)
        #expect(reply.body.count < 1024)
    }

    // MARK: Bodies of rejected requests

    @Test(
        "Before an early reply a body is read to its end, up to 128 MiB",
        arguments: [1, 65_536, 65_537, 1 << 20, 128 << 20] as [Int64])
    func drain(bytes: Int64) throws {
        let server = try TestServer(withDatabase: false)

        let reply = server.send("POST", "/UploadFile/", announcing: bytes, on: FakeConnection(zeros: bytes))

        #expect(reply.code == "credentials_missing")
        #expect(reply.readBytes == bytes)
    }

    @Test("A body of more than 128 MiB, or of unknown length, gets the reply at once")
    func noDrain() throws {
        let server = try TestServer(withDatabase: false)
        let tooLarge: Int64 = 128 << 20 + 1

        let large = server.send(
            "POST", "/UploadFile/", announcing: (128 << 20) + 1, on: FakeConnection(zeros: tooLarge))
        #expect(large.code == "credentials_missing")
        #expect(large.readBytes == 0)
        let unknown = server.send("POST", "/UploadFile/", on: FakeConnection(zeros: 1000))
        #expect(unknown.code == "credentials_missing")
        #expect(unknown.readBytes == 0)
    }

    @Test("A body that ends before its announced length does not prevent the reply")
    func shortBodyWhileDraining() throws {
        let server = try TestServer(withDatabase: false)

        let reply = server.send("POST", "/UploadFile/", announcing: 5_000, on: FakeConnection(zeros: 1_000))

        #expect(reply.code == "credentials_missing")
        #expect(reply.end == .finished)
    }

    // MARK: Phones that disconnect

    @Test("A phone that disconnects while its body is read gets nothing, and is logged as 499")
    func hangsUpWhileDraining() throws {
        let server = try TestServer(withDatabase: false)
        let connection = FakeConnection(zeros: 1 << 20)
        connection.hangsUpAfterBytes = 4 * 65_536

        server.send("POST", "/UploadFile/", announcing: 1 << 20, on: connection)

        #expect(connection.starts == 0)
        #expect(connection.end == .abandoned)
        #expect(server.log.request?["status"] == "499")
        #expect(server.log.request?["code"] == "client_gone")
        #expect(server.log.request?["bytes_received"] == "262144")
    }

    @Test("A phone that does not read its reply is logged as 499, and nothing is sent after that")
    func hangsUpWhileReading() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        for taken in [0, 5] as [Int64] {
            let connection = FakeConnection()
            connection.takesReplyBytes = taken

            server.send(IndexRequest(), as: alice, on: connection)

            #expect(connection.starts == 1)
            #expect(connection.end == .abandoned)
            #expect(server.log.request?["status"] == "499")
        }
    }

    // MARK: The log

    @Test("Each request is logged as one line, without tokens or the request's contents [F19]")
    func log() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        server.send(IndexRequest(sharingGroupUUID: SharingGroupUUID("s3cret-group")!), as: alice)

        #expect(server.log.request?["endpoint"] == "Index")
        #expect(server.log.request?["status"] == "404")
        #expect(server.log.request?["code"] == "group_unknown")
        server.send(
            "GET", "/Index/", query: "s3cret=%%", headers: phone.headers.merging([.accessToken: "s3cret"]) { $1 })
        #expect(server.log.request?["status"] == "401")
        #expect(!server.log.text.contains("s3cret"))
        #expect(!server.log.text.contains("good alice"))
    }

    // MARK: Requests that arrive twice

    @Test("Concurrent identical AddUser requests create one user and one group, and all get the same reply")
    func addUserTwice() throws {
        let server = try TestServer()

        let outcomes = concurrently(4) { _ in
            let reply = server.send(AddUserRequest(sharingGroupUUID: phone.group, cloudFolderName: "F"), as: phone)
            return (reply.json["userId"] as? Int64) ?? Int64(-(reply.status ?? 0))
        }

        #expect(Set(outcomes.successes()).count == 1, "\(outcomes)")
        #expect(outcomes.successes().allSatisfy { $0 > 0 })
        #expect(try server.count("SELECT COUNT(*) FROM users") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'writeWarningFile'") == 1)
    }

    @Test(
        "If a user redeems an invitation's last acceptance several times at once, every request succeeds"
    )
    func redeemTwice() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        for isNew in [true, false] {
            let created = server.send(
                CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice)
            let invitation = SharingInvitationUUID(created.json["sharingInvitationUUID"] as! String)!
            var guest = Phone(name: "guest \(isNew)", accountType: .facebook)
            if !isNew {
                guest = Phone(name: "carol", accountType: .google)
                server.send(AddUserRequest(sharingGroupUUID: guest.group, cloudFolderName: "F"), as: guest)
            }
            let redeemer = guest

            let outcomes = concurrently(4) { _ in
                let reply = server.send(
                    RedeemSharingInvitationRequest(sharingInvitationUUID: invitation, cloudFolderName: nil),
                    as: redeemer)
                return reply.code ?? "\(reply.json["userId"] ?? "-") \(reply.json["sharingGroupUUID"] ?? "-")"
            }

            #expect(Set(outcomes.successes()).count == 1, "\(outcomes)")
            #expect(outcomes.successes().allSatisfy { $0.hasSuffix(alice.group.rawValue) })
        }
    }

    @Test("Concurrent identical DoneUploads requests commit once, and all get the first one's reply")
    func doneUploadsTwice() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        for round in 0..<3 {
            #expect(server.upload(someBytes(10), of: someFile(), master: Int64(round), by: alice).status == 200)

            let outcomes = concurrently(4) { _ in
                server.commit(from: Int64(round), by: alice).json["numberUploadsTransferred"] as? Int ?? -1
            }

            #expect(outcomes.successes() == [1, 1, 1, 1])
        }
        #expect(try server.count("SELECT master_version FROM sharing_groups") == 3)
    }

    @Test("A stale DoneUploads is rejected while another commit holds the group's lock")
    func staleWithoutWaiting() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        #expect(server.commit(from: 0, by: alice).status == 200)
        let groupID = try server.store.withSession { session in
            let user = try #require(try session.user(.google, alice.name, device: nil)).user
            return try #require(try session.membership(of: user.userID, in: alice.group)).groupID
        }

        try server.store.transaction { session in
            _ = try session.lockMasterVersionExclusive(of: groupID)
            // Uses another connection; a wait would end in its lock timeout, and fail.
            let reply = server.commit(from: 0, by: alice, renaming: "X")
            #expect(reply.json["masterVersionUpdate"] as? Int == 1)
        }
    }

    @Test("DoneUploads with another name, from another device, or after another commit is stale")
    func rememberedCommitVoid() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        #expect(server.commit(from: 0, by: alice).json["numberUploadsTransferred"] as? Int == 0)

        #expect(server.commit(from: 0, by: alice).json["numberUploadsTransferred"] as? Int == 0)
        #expect(server.commit(from: 0, by: alice, renaming: "X").json["masterVersionUpdate"] as? Int == 1)
        var tablet = alice
        tablet.device = DeviceUUID(UUID().uuidString)!
        #expect(server.commit(from: 0, by: tablet).json["masterVersionUpdate"] as? Int == 1)
        #expect(server.upload(someBytes(10), of: someFile(), master: 1, by: alice).status == 200)
        #expect(server.commit(from: 0, by: alice).json["masterVersionUpdate"] as? Int == 1, "a change is staged")
        #expect(server.commit(from: 1, by: tablet).json["numberUploadsTransferred"] as? Int == 0)
        #expect(server.commit(from: 0, by: alice).json["masterVersionUpdate"] as? Int == 2)
    }

    @Test("Each row of the protocol's table has an endpoint", arguments: EndpointName.allCases)
    func served(endpoint: EndpointName) {
        #expect(endpoint.route.message is any ServedRequest.Type)
    }
}
