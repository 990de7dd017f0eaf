import HTTPTransport
import HTTPTypes
import SyncProtocol
import TestSupport
import Testing

@testable import Providers

/// Pages of proxies and portals, throttling and temporary failures during a sign-in. Apps sign users out at a 401, so
/// none of these may be taken for the provider's judgement of a token.
@Suite("Replies that do not judge a token")
struct ForeignReplyTests {
    /// The route on which a company's sign-in checks a token.
    private struct Company {
        var name: String
        /// The end of the path, or of the query if the query identifies the request.
        var route: String
        /// The replies of its other routes.
        var others: [String: Reply]
        var account: any AccountProvider
        var presented: PresentedCredentials
        /// The company's own replies that do not judge the token.
        var own: [Reply]
    }

    private static func companies() throws -> [Company] {
        let microsoft = try MicrosoftTokenMaker.shared.get()
        return [
            Company(
                name: "Google", route: "tokeninfo", others: ["userinfo": GoogleVerificationTests.user],
                account: GoogleVerificationTests.account, presented: .google, own: google),
            Company(
                name: "Google", route: "userinfo", others: ["tokeninfo": GoogleVerificationTests.tokenInfo()],
                account: GoogleVerificationTests.account, presented: .google, own: google),
            Company(
                name: "Dropbox", route: "get_current_account", others: [:], account: DropboxAccountTests.account,
                presented: DropboxAccountTests.presented(),
                own: [
                    Reply(
                        429, #"{"error_summary":"too_many_requests/.","error":{"reason":{".tag":"too_many_requests"}}}"#
                    ),
                    Reply(
                        400, "Error in call to API function \"users/get_current_account\": Bad HTTP \"Content-Type\""),
                ]),
            Company(
                name: "Facebook", route: "me", others: ["debug_token": FacebookAccountTests.inspection()],
                account: FacebookAccountTests.account, presented: .facebook, own: facebook),
            Company(
                name: "Facebook", route: "debug_token", others: [:], account: FacebookAccountTests.account,
                presented: .facebook, own: facebook),
            Company(
                name: "Microsoft", route: "me", others: ["keys": try microsoft.keys()],
                account: MicrosoftAccount(clientID: MicrosoftTokenMaker.clientID, clientSecret: "s"),
                presented: PresentedCredentials(
                    accountType: .microsoft, accessToken: try microsoft.token(), microsoftAccessToken: "EwB"),
                own: ["activityLimitReached", "TooManyRequests", "serviceReadOnly"].map {
                    Reply(403, #"{"error":{"code":"accessDenied","message":"m","innerError":{"code":"\#($0)"}}}"#)
                }),
            Company(
                name: "S3", route: "list", others: [:], account: S3Account(servers: servers), presented: s3Key,
                own: s3),
            Company(
                name: "S3", route: "uploads",
                others: ["list": Reply(200, "<ListBucketResult></ListBucketResult>")],
                account: S3Account(servers: servers), presented: s3Key, own: s3),
            Company(
                name: "WebDAV", route: "files/", others: [:], account: WebDAVAccount(servers: servers),
                presented: PresentedCredentials(
                    accountType: .webDAV, accessToken: "app-password",
                    accountDetails: #"{"address": "https://cloud.example.com/files/", "user": "alice"}"#),
                own: webDAV),
        ]
    }

    /// The verdict of each company's storage on a reply.
    private static let storages: [(name: String, verdict: @Sendable (Reply) -> ReplyVerdict)] = [
        ("Google Drive", { DriveVerdict.classify($0, accepting: []) }),
        ("Dropbox", { DropboxVerdict.classify($0) }),
        ("OneDrive", { GraphVerdict.classify($0, accepting: []) }),
        ("OneDrive's content", ContentHost.classify),
        ("S3", { S3Verdict.classify($0, correcting: nil) }),
        ("WebDAV", { WebDAVVerdict.classify($0) }),
    ]

    private static let servers = NamedServers(listed: [], admitsAnyPublic: true)
    private static let s3Key = PresentedCredentials(
        accountType: .s3, accessToken: "s3cret",
        accountDetails: """
            {"address": "https://s3.example.com", "region": "eu-1", "bucket": "photos", "accessKeyID": "AK"}
            """)
    /// Full storage, faults of rights, buckets, regions and accounts, throttling, and clock differences.
    private static let s3 =
        [
            ("XMinioStorageFull", 507), ("QuotaExceeded", 403), ("AccessDenied", 403), ("AllAccessDisabled", 403),
            ("NoSuchBucket", 404), ("PermanentRedirect", 301), ("AccountProblem", 403), ("NotSignedUp", 403),
            ("SlowDown", 503), ("RequestTimeTooSkewed", 403), ("NotImplemented", 501), ("InvalidRequest", 400),
            ("ACodeOfTheFuture", 400),
        ].map { code, status in Reply(status, "<Error><Code>\(code)</Code><Message>m</Message></Error>") } + [
            Reply(
                400,
                "<Error><Code>AccessDenied</Code><Message>The difference between the request time and the server's time "
                    + "exceeds the maximum allowed.</Message></Error>"),
            Reply(400, "The plain HTTP request was sent to HTTPS port"), Reply(302, "<html>"), Reply(200, "<html>"),
        ]

    private static let google = [
        Reply(403, #"{"error":{"code":403,"message":"m","errors":[{"reason":"userRateLimitExceeded"}]}}"#),
        Reply(403, #"{"error":{"code":403,"status":"PERMISSION_DENIED","details":[{"reason":"SERVICE_DISABLED"}]}}"#),
        Reply(400, #"{"error":"invalid_request","error_description":"m"}"#),
    ]
    private static let facebook =
        [1, 2, 4, 17, 32, 341, 368, 613, 999].map {
            Reply(400, #"{"error":{"message":"m","type":"OAuthException","code":\#($0)}}"#)
        } + [Reply(401, #"{"error":{"message":"m","type":"OAuthException","code":190,"is_transient":true}}"#)]

    /// Maintenance, throttling of wrong passwords, locks, full storage, terms not accepted, and other users' folders.
    private static let webDAV =
        [
            (503, "Maintenance"), (429, "TooManyRequests"), (423, "Locked"), (507, "InsufficientStorage"),
            (403, "OCA\\TermsOfService\\TermsNotSignedException"), (403, "Forbidden"), (404, "NotFound"),
            (412, "PreconditionFailed"), (405, "MethodNotAllowed"), (207, "Nothing"),
        ].map { status, exception in
            Reply(
                status, "<d:error xmlns:d='DAV:' xmlns:s='s'><s:exception>\(exception)</s:exception></d:error>")
        } + [Reply(401, "", headers: [.wwwAuthenticate: "Digest realm=\"/\", nonce=\"a\""]), Reply(302, "<html>")]

    private static let pages = [
        "<html><head><title>Sign in to the network</title></head></html>", "", "Forbidden",
        #"{"message":"no Route matched with those values"}"#, "[]",
    ]

    @Test("Such a reply does not sign any user out")
    func foreign() throws {
        let pages = [400, 401, 403, 404, 407, 429, 500, 503].flatMap { status in
            Self.pages.map { Reply(status, $0) }
        }
        var count = 0
        for company in try Self.companies() {
            for reply in pages + company.own {
                expectNoJudgement(reply, company)
                count += 1
            }
        }
        #expect(count > 300)
    }

    @Test("Such a reply from a storage revokes nothing")
    func foreignAtStorage() {
        let pages = [400, 401, 403, 404, 407, 429, 500, 503].flatMap { status in
            Self.pages.map { Reply(status, $0) }
        }
        for (name, verdict) in Self.storages {
            for reply in name == "S3" ? pages + Self.s3 : pages {
                let text = "\(reply.status) \(String(decoding: reply.body, as: UTF8.self)) at \(name)"
                switch verdict(reply) {
                case .tokenRejected, .failure(.authorizationRevoked): Issue.record("revoked after \(text)")
                case .answer, .tokenDoubted, .authorizationCorrected, .tryAgain, .throttled, .failure: break
                }
            }
        }
    }

    @Test("Neither an invalid certificate nor silence signs a user out")
    func noReply() throws {
        for company in try Self.companies() {
            for failure in [
                TransportError.refused("TLS: the provider's certificate has expired"), .notSent, .interrupted,
                .timedOut,
            ] {
                do throws(AccountError) {
                    _ = try company.account.verify(company.presented, through: AccountScript(failing: failure).client)
                    Issue.record("accepted after \(failure) at \(company.name)")
                } catch {
                    #expect(!Self.isJudgement(error), "\(error) after \(failure) at \(company.name)")
                }
            }
        }
    }

    /// Whether apps sign users out.
    private static func isJudgement(_ error: AccountError) -> Bool {
        switch error {
        case .unavailable, .notAsked, .misconfigured, .timedOut: false
        // For an existing user, the request treats the first of these as an outage (``RequestContext/verify(_:by:)``).
        case .malformedDetails, .rightMissing, .storageUnusable: false
        default: true
        }
    }

    private func expectNoJudgement(_ reply: Reply, _ company: Company) {
        var replies = company.others
        replies[company.route] = reply
        let text =
            "\(reply.status) \(String(decoding: reply.body, as: UTF8.self)) at \(company.name)'s \(company.route)"
        let script = company.name == "S3" ? Self.bucket(replies) : AccountScript(replies).transport
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(40)), backoff: PauseRecord().backoff())
        do throws(AccountError) {
            _ = try company.account.verify(company.presented, through: client)
            // A full storage proves that the user may write there.
            #expect(reply.status == 507 || text.contains("QuotaExceeded"), "accepted after \(text)")
        } catch {
            #expect(!Self.isJudgement(error), "\(error) after \(text)")
        }
    }

    /// A bucket that answers according to the request.
    private static func bucket(_ replies: [String: Reply]) -> ScriptedTransport {
        ScriptedTransport { request in
            let asked = request.url.contains("list-type") ? "list" : request.url.contains("uploads") ? "uploads" : ""
            return replies[asked] ?? Reply(204)
        }
    }
}
