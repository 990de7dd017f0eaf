import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@Suite("Sign-in with an S3 bucket")
struct S3AccountTests {
    private static func presented(_ details: String?, secret: String = "s3cret") -> PresentedCredentials {
        PresentedCredentials(accountType: .s3, accessToken: secret, accountDetails: details)
    }

    private static func details(
        address: String = "https://s3.example.com", region: String = "eu-1", bucket: String = "photos",
        accessKeyID: String = "AK", prefix: String = "alice/"
    ) -> String {
        """
        {"address": "\(address)", "region": "\(region)", "bucket": "\(bucket)", "accessKeyID": "\(accessKeyID)", \
        "prefix": "\(prefix)"}
        """
    }

    private static let account = S3Account(servers: NamedServers(listed: [], admitsAnyPublic: true))
    private static let replies = [
        Reply(200, "<ListBucketResult></ListBucketResult>"),
        Reply(200, "<InitiateMultipartUploadResult><UploadId>U</UploadId></InitiateMultipartUploadResult>"),
        Reply(204),
    ]

    private func identity(_ details: String) throws -> String {
        let script = ScriptedTransport(replies: Self.replies)
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff())
        return try Self.account.verify(Self.presented(details), through: client).providerUserID
    }

    private func refusal(_ presented: PresentedCredentials, _ replies: [Reply] = []) -> (AccountError?, requests: Int) {
        let script = ScriptedTransport(replies: replies)
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff())
        do throws(AccountError) {
            _ = try Self.account.verify(presented, through: client)
            return (nil, script.requests.count)
        } catch {
            return (error, script.requests.count)
        }
    }

    @Test("The same place has the same identity, regardless of its spelling and of the key that opens it")
    func identities() throws {
        let identity = try identity(Self.details())

        #expect(identity == "https://s3.example.com/photos/alice/")
        #expect(try self.identity(Self.details(address: "HTTPS://S3.Example.com:443/")) == identity)
        #expect(try self.identity(Self.details(accessKeyID: "AK2", prefix: "alice")) == identity)
        #expect(try self.identity(Self.details(region: "eu-2")) == identity)
        #expect(try self.identity(Self.details(prefix: "")) == "https://s3.example.com/photos/")
        #expect(
            try self.identity(Self.details(address: "https://s3.eu-central-1.amazonaws.com"))
                == self.identity(Self.details(address: "https://s3.amazonaws.com")))
        for regional in ["s3-eu-west-1", "s3.dualstack.eu-west-1", "s3-fips.us-east-2", "s3-external-1"] {
            #expect(
                try self.identity(Self.details(address: "https://\(regional).amazonaws.com"))
                    == "https://s3.amazonaws.com/photos/alice/")
        }
        let long = try self.identity(Self.details(prefix: String(repeating: "a", count: 500)))
        #expect(long.hasPrefix("sha256:") && long.utf8.count == 71)
    }

    @Test("Buckets with the same name at other Amazon services, and in other partitions, are different buckets")
    func otherNamespaces() throws {
        let addresses = [
            "https://s3.amazonaws.com", "https://s3.cn-north-1.amazonaws.com.cn",
            "https://s3.us-gov-west-1.amazonaws.com",
            "https://a1b2.execute-api.us-east-1.amazonaws.com", "https://s3.evil.us-east-1.amazonaws.com",
            "https://evil.s3.us-east-1.amazonaws.com", "https://s3.cn-north-1.amazonaws.com",
            "https://s3.us-east-1.amazonaws.com.cn", "https://s3.amazonaws.com.cn", "https://s3-evil.amazonaws.com",
            "https://s3.us-east-1.amazonaws.com.example.com",
        ]
        let identities = try addresses.map { try identity(Self.details(address: $0)) }

        #expect(Set(identities).count == addresses.count)
        // The start of a bucket's name is not part of the host's name.
        #expect(
            try identity(Self.details(address: "https://s3.amazonaws.com", bucket: "john.photos", prefix: "sync"))
                != identity(Self.details(address: "https://s3.amazonaws.comjohn.photos", bucket: "sync", prefix: "")))
    }

    @Test("Malformed details are rejected before any request is sent")
    func malformed() {
        for details in [
            nil, "", "[]", "{}", #"{"address": "https://s3.example.com"}"#, Self.details(region: ""),
            Self.details(region: "eu/1"), Self.details(region: String(repeating: "a", count: 65)),
            Self.details(bucket: "ab"), Self.details(bucket: "Photos"), Self.details(bucket: "a..b"),
            Self.details(bucket: "-abc"), Self.details(bucket: "a/b"), Self.details(bucket: "a?b"),
            Self.details(bucket: String(repeating: "a", count: 64)), Self.details(accessKeyID: ""),
            Self.details(accessKeyID: "A/K"), Self.details(accessKeyID: "A,K"), Self.details(accessKeyID: "A K"),
            Self.details(prefix: "/alice"), Self.details(prefix: "a//b"), Self.details(prefix: "../b"),
            Self.details(prefix: "a/./b"), Self.details(prefix: #"a\u0000b"#), Self.details(prefix: #"a\r\nb"#),
            Self.details(prefix: String(repeating: "a", count: 513)), Self.details(address: "https://s3.example.com/x"),
        ] {
            let (error, requests) = refusal(Self.presented(details))
            guard case .malformedDetails = error else {
                Issue.record("\(details ?? "nil"): \(String(describing: error))")
                continue
            }
            #expect(requests == 0)
        }
    }

    @Test(
        "Addresses that are not allowed are all rejected alike, before any request is sent",
        arguments: [
            "http://s3.example.com", "https://s3.example.com:9000", "https://127.0.0.1", "https://localhost",
            "https://[::1]",
            "https://0x7f.1", "https://user@s3.example.com", "https://s3.example.com.", "ftp://s3.example.com",
        ])
    func addresses(address: String) {
        let (error, requests) = refusal(Self.presented(Self.details(address: address)))

        #expect(error == .serverNotAllowed && requests == 0)
    }

    private static func error(_ code: String, _ status: Int, _ message: String = "m") -> Reply {
        Reply(status, "<Error><Code>\(code)</Code><Message>\(message)</Message></Error>")
    }

    @Test("Only the service's own words about a key reject it, and each cause has its own sentence")
    func refusals() {
        let presented = Self.presented(Self.details())
        let (error, list) = (Self.error, Self.replies[0])
        let refusals: [(replies: [Reply], isRejection: Bool, words: String)] = [
            ([error("InvalidAccessKeyId", 403, "m")], true, "does not know the access key"),
            ([error("SignatureDoesNotMatch", 403, "m")], true, "secret does not belong to the access key"),
            ([error("ExpiredToken", 400, "m")], true, "has expired"),
            ([error("AccessDenied", 403, "Forbidden: Invalid signature")], true, "access key or its secret"),
            ([error("AccessDenied", 403, "Forbidden: No such key: GK1")], true, "access key or its secret"),
            ([error("AccessDenied", 403, "m")], false, "s3:ListBucket"),
            ([error("NoSuchBucket", 404, "m")], false, "bucket that does not exist"),
            ([list, error("AccessDenied", 403, "m")], false, "s3:PutObject"),
            ([error("AuthorizationHeaderMalformed", 400, "m")], false, "region"),
            ([error("AccountProblem", 403, "m")], false, "account of the access key"),
            ([Reply(200, "<html/>")], false, "without an S3 service (status 200)"),
            ([Reply(404, "<html/>")], false, "without an S3 service (status 404)"),
            ([Reply(403, "<html/>")], false, "without an S3 service (status 403)"),
            ([Reply(400, "Client sent an HTTP request to an HTTPS server.")], false, "without an S3 service"),
        ]
        for (replies, isRejection, words) in refusals {
            let refusal = refusal(presented, replies).0
            #expect(refusal?.isRejection == isRejection, "\(words)")
            #expect(refusal?.description.contains(words) == true, "\(words): \(String(describing: refusal))")
        }
        #expect(refusal(Self.presented(Self.details(), secret: "two words")).0?.isRejection == true)
        guard case .malformedDetails = refusal(Self.presented(Self.details(address: "s3.example.com"))).0 else {
            Issue.record("an address without https://")
            return
        }
    }

    @Test("A full storage keeps no existing user out, but no new user can sign up with it")
    func full() throws {
        let script = ScriptedTransport(replies: [Self.replies[0], Self.error("XMinioStorageFull", 507)])
        _ = try Self.account.verify(Self.presented(Self.details()), through: Self.client(script))

        let fresh = ScriptedTransport(replies: [Self.error("XMinioStorageFull", 507)])
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))
        #expect(throws: AccountError.storageUnusable(.full)) {
            try Self.account.requireStorage(with: credentials, through: Self.client(fresh))
        }
    }

    @Test("A rejection because of a wrong time corrects the clock, regardless of its code")
    func clock() throws {
        let late = Reply(
            400,
            "<Error><Code>AccessDenied</Code><Message>The difference between the request time and the server's time exceeds "
                + "the maximum allowed.</Message></Error>", headers: [.date: "Sun, 30 Aug 2015 12:36:00 GMT"])
        let script = ScriptedTransport(replies: [late] + Self.replies)

        _ = try Self.account.verify(Self.presented(Self.details()), through: Self.client(script))

        let dates = script.requests.compactMap { $0.headers[HTTPField.Name("x-amz-date")!] }
        #expect(dates[0] != dates[1] && dates[1].hasPrefix("20150830T12"))
    }

    private static func client(
        _ script: ScriptedTransport, remark: @escaping @Sendable (String) -> Void = { _ in }
    ) -> AccountClient {
        AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff(), remark: remark
        )
    }

    @Test("An upload that was begun twice, because the first reply was lost, is ended twice")
    func repeatedBeginning() throws {
        let uploads = ["U", "LOST"].map { id in
            "<Upload><Key>alice/.syncserver-probe</Key><UploadId>\(id)</UploadId></Upload>"
        }
        let script = ScriptedTransport(replies: [
            Self.replies[0], Reply(500), Self.replies[1],
            Reply(200, "<ListMultipartUploadsResult>\(uploads.joined())</ListMultipartUploadsResult>"),
            Reply(204), Reply(204),
        ])
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff())

        _ = try Self.account.verify(Self.presented(Self.details()), through: client)

        let ended = script.requests.filter { $0.method == .delete }.map { $0.url.split(separator: "=").last }
        #expect(ended == ["LOST", "U"])
    }

    @Test("An object that could not be deleted is overwritten and deleted by the next attempt")
    func storageProbes() throws {
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))
        let script = ScriptedTransport(
            replies: [
                Reply(200), Reply(200), Reply(302), Reply(200), Reply(200), Reply(204), Self.absent("NoSuchKey", 404),
            ]
                + Self.uploads)

        #expect(throws: AccountError.self) {
            try Self.account.requireStorage(with: credentials, through: Self.client(script))
        }
        try Self.account.requireStorage(with: credentials, through: Self.client(script))

        #expect(script.requests.map(\.method).prefix(7) == [.put, .get, .delete, .put, .get, .delete, .get])
        #expect(Set(script.requests.prefix(7).map(\.url)).count == 1)
    }

    /// Begins an upload, lists it, aborts it, and lists again.
    private static let uploads = [
        replies[1], Reply(200, "<ListMultipartUploadsResult></ListMultipartUploadsResult>"), Reply(204),
        Reply(200, "<ListMultipartUploadsResult></ListMultipartUploadsResult>"),
    ]

    @Test(
        "A key with a missing right opens no storage, and the error names the right",
        arguments: [
            (0, "s3:PutObject"), (1, "s3:GetObject"), (2, "s3:DeleteObject"), (3, "s3:ListBucket"), (4, "s3:PutObject"),
            (5, "s3:ListBucketMultipartUploads"), (6, "s3:AbortMultipartUpload"),
        ])
    func missingRight(step: Int, right: String) throws {
        var replies = [Reply(200), Reply(200), Reply(204), Self.absent("NoSuchKey", 404)] + Self.uploads
        replies[step] = Self.absent("AccessDenied", 403)
        let end = [Reply(200, "", headers: [.eTag: "\"x\""]), Reply(204)]
        let completed = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
        if step == 6 { replies.replaceSubrange(7..., with: end + [Reply(200, completed), Reply(204)]) }
        let script = ScriptedTransport(replies: replies)
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))

        do throws(AccountError) {
            try Self.account.requireStorage(with: credentials, through: Self.client(script))
            Issue.record("opened without \(right)")
        } catch {
            guard case .rightMissing(let text) = error else { throw error }
            #expect(text.hasSuffix(right))
        }
        // An upload that may not be aborted is completed and deleted.
        if step == 6 { #expect(script.requests.suffix(4).map(\.method) == [.put, .delete, .post, .delete]) }
    }

    @Test("A service that lists no uploads is accepted")
    func noListOfUploads() throws {
        var replies = [Reply(200), Reply(200), Reply(204), Self.absent("NoSuchKey", 404)] + Self.uploads
        replies[5] = Self.absent("NotImplemented", 501)
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))

        try Self.account.requireStorage(with: credentials, through: Self.client(ScriptedTransport(replies: replies)))
    }

    @Test("A bucket that keeps versions is detected, and the version created by the trial is deleted")
    func versions() throws {
        let written = Reply(200, "", headers: [HTTPField.Name("x-amz-version-id")!: "v1"])
        let script = ScriptedTransport(
            replies: [written, Reply(200), Reply(204), Self.absent("NoSuchKey", 404)] + Self.uploads)
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))
        let remarks = Mutex<[String]>([])

        try Self.account.requireStorage(
            with: credentials,
            through: Self.client(script) { text in remarks.withLock { $0.append(text) } })

        #expect(script.requests[2].url.hasSuffix("?versionId=v1"))
        #expect(script.requests[0].headers[HTTPField.Name("Content-MD5")!] != nil)
        #expect(remarks.withLock { $0 }.first?.contains("keeps versions") == true)
    }

    private static func absent(_ code: String, _ status: Int) -> Reply {
        Reply(status, "<Error><Code>\(code)</Code></Error>")
    }

    @Test("Only the secret and the place are stored, and a refresh is impossible")
    func kept() throws {
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))

        #expect(credentials.accessToken == "s3cret" && credentials.refreshToken == nil)
        #expect(credentials.location?.contains("photos") == true)
        #expect(credentials.location?.contains("s3cret") == false)
        let client = AccountClient(
            transport: ScriptedTransport(replies: []).transport, deadline: .after(.seconds(9)),
            backoff: PauseRecord().backoff())
        #expect(throws: AccountError.revoked) { try Self.account.refresh(credentials, through: client) }
    }
}
