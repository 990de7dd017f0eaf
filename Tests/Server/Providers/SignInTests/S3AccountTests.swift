import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Sign-in with a bucket of S3")
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

    @Test("The same place has the same identity, however it is written, and whichever key opens it")
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

    @Test("Buckets of the same name at other services of Amazon, and in other partitions, are other buckets")
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
        // What a bucket begins with is not part of a host's name.
        #expect(
            try identity(Self.details(address: "https://s3.amazonaws.com", bucket: "john.photos", prefix: "sync"))
                != identity(Self.details(address: "https://s3.amazonaws.comjohn.photos", bucket: "sync", prefix: "")))
    }

    @Test("Details of another form are refused before anybody is asked")
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
        "Addresses that are not admitted are refused alike, before anybody is asked",
        arguments: [
            "http://s3.example.com", "https://s3.example.com:9000", "https://127.0.0.1", "https://localhost",
            "https://[::1]",
            "https://0x7f.1", "https://user@s3.example.com", "https://s3.example.com.", "ftp://s3.example.com",
        ])
    func addresses(address: String) {
        let (error, requests) = refusal(Self.presented(Self.details(address: address)))

        #expect(error == .serverNotAllowed && requests == 0)
    }

    @Test("A key that opens nothing, or cannot write, is rejected; a service that fails says nothing about the key")
    func refusals() {
        func error(_ code: String, _ status: Int) -> Reply { Reply(status, "<Error><Code>\(code)</Code></Error>") }
        let presented = Self.presented(Self.details())

        #expect(refusal(presented, [error("InvalidAccessKeyId", 403)]).0 == .rejected)
        #expect(refusal(presented, [error("AccessDenied", 403)]).0 == .rejected)
        #expect(refusal(presented, [error("NoSuchBucket", 404)]).0 == .rejected)
        #expect(refusal(presented, [Self.replies[0], error("AccessDenied", 403)]).0 == .rejected)
        for reply in [Reply(200, "<html/>"), Reply(404, "<html/>"), Reply(401, "")] {
            guard case .unavailable = refusal(presented, [reply]).0 else {
                Issue.record("counts as an answer: \(reply.status)")
                continue
            }
        }
        #expect(refusal(Self.presented(Self.details(), secret: "two words")).0 == .rejected)
    }

    @Test("An upload that was begun twice, since the first reply was lost, is ended twice")
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
        let script = ScriptedTransport(replies: [
            Reply(200), Reply(200), Reply(302), Reply(200), Reply(200), Reply(204), Self.absent("NoSuchKey", 404),
        ])
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff())

        #expect(throws: AccountError.self) { try Self.account.requireStorage(with: credentials, through: client) }
        try Self.account.requireStorage(with: credentials, through: client)

        #expect(script.requests.map(\.method) == [.put, .get, .delete, .put, .get, .delete, .get])
        #expect(Set(script.requests.map(\.url)).count == 1)
    }

    @Test("A key that is not told that an object is absent opens no storage")
    func absentObject() {
        let credentials = Self.account.credentials(from: Self.presented(Self.details()))
        let script = ScriptedTransport(replies: [
            Reply(200), Reply(200), Reply(204), Self.absent("AccessDenied", 403),
        ])
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff())

        #expect(throws: AccountError.storageMissing(detail: "403 AccessDenied")) {
            try Self.account.requireStorage(with: credentials, through: client)
        }
    }

    private static func absent(_ code: String, _ status: Int) -> Reply {
        Reply(status, "<Error><Code>\(code)</Code></Error>")
    }

    @Test("What is kept is the secret and the place, and a refresh is impossible")
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
