import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Identities and account switches, request by request")
struct AccountSwitchTests {
    private static let identity = UserAppID("55555555-5555-4555-8555-555555555555")!
    private static let switchID = AccountSwitchID("66666666-6666-4666-8666-666666666666")!
    private static let grant = DeviceGrant(String(repeating: "0a", count: 32))!

    private static func header(_ name: String, _ exchange: HTTPExchange?) -> String? {
        exchange?.request.headerFields[HTTPField.Name(name)!]
    }

    private func bench(_ replies: HTTPReply...) -> Bench {
        Bench(
            ScriptedExecutor(replies.map { .success($0) }),
            change: {
                $0.identity = { KnownIdentity(accountEpoch: AccountEpoch(4), deviceGrant: Self.grant) }
            })
    }

    @Test("Sign-ins request the identity and send the grant; other requests include the epoch")
    func headers() async throws {
        let bench = bench(
            .reply(200, #"{"userId":7,"userAppId":"\#(Self.identity.rawValue)","accountEpoch":5}"#), Bench.index)

        let outcome = try await bench.connection.checkCredentials()
        _ = try await bench.connection.index(IndexRequest())

        let reported = AccountIdentity(userAppId: Self.identity, accountEpoch: AccountEpoch(5), deviceGrant: nil)
        #expect(outcome == .user(SignedInUser(userID: UserID(7), identity: reported)))
        let (first, second) = (bench.executor.exchanges.first, bench.executor.exchanges.last)
        #expect(first?.request.path?.hasSuffix("CheckCreds/?reportIdentity=1") == true)
        #expect(Self.header("SyncServer-Device-Grant", first) == Self.grant.secret)
        #expect(Self.header("SyncServer-Account-Epoch", first) == nil)
        #expect(Self.header("SyncServer-Device-Grant", second) == nil)
        #expect(Self.header("SyncServer-Account-Epoch", second) == "4")
    }

    @Test("A server without identities reports none, and requests include no epoch")
    func older() async throws {
        let bench = Bench(.success(.reply(200, #"{"userId":7}"#)))

        #expect(try await bench.connection.checkCredentials() == .user(SignedInUser(userID: UserID(7))))
        _ = try? await bench.connection.index(IndexRequest())

        for exchange in bench.executor.exchanges {
            #expect(Self.header("SyncServer-Account-Epoch", exchange) == nil)
            #expect(Self.header("SyncServer-Device-Grant", exchange) == nil)
        }
    }

    @Test("A retired account is distinguished from an unknown one, and no refresh is attempted")
    func retired() async throws {
        let reply = HTTPReply.error(401, "account_retired", headers: ["syncserver-active-account-type": "Dropbox"])
        let bench = bench(reply)

        #expect(try await bench.connection.checkCredentials() == .retired(activeAccountType: .dropbox))
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.index(IndexRequest())
        }

        #expect(error?.code == .signInRequired && error?.activeAccountType == .dropbox)
        #expect(bench.credentials.refreshes.isEmpty)
    }

    @Test(
        "Rejections are returned as outcomes",
        arguments: [
            ("account_in_use", 409, AccountSwitchRefusal.accountInUse), ("grant_invalid", 409, .grantInvalid),
            ("owning_account_required", 409, .owningAccountRequired), ("switch_in_progress", 409, .inProgress(nil)),
            ("old_account_proof_required", 409, .oldAccountProofRequired), ("switch_unknown", 404, .unknown),
            ("switch_confirmed", 409, .confirmed), ("stale_epoch", 409, .staleEpoch),
        ])
    func refusals(code: String, status: Int, refusal: AccountSwitchRefusal) async throws {
        let bench = bench(.error(status, code))

        let begun = try await bench.connection.beginAccountSwitch(BeginAccountSwitchRequest(userAppId: Self.identity))
        let cancelled = try await bench.connection.cancelAccountSwitch(Self.switchID)

        #expect(begun == .refused(refusal))
        guard case .refused(refusal) = cancelled else {
            Issue.record("\(cancelled)")
            return
        }
    }

    @Test("Endpoints that the server does not know are reported as not supported")
    func notSupported() async throws {
        let error = await failure { () throws(ServerConnectionError) in
            try await bench(.reply(404, "")).connection.accountSwitchStatus()
        }
        #expect(error?.code == .notSupported)
    }

    @Test("A proposal sends the grant, and the former account if it can be proved")
    func proof() async throws {
        let bench = bench(.error(409, "grant_invalid"))
        let old = Credentials(accountType: .dropbox, accessToken: Secret("tok\"en"), accountID: "dbid:1")

        _ = try await bench.connection.beginAccountSwitch(
            BeginAccountSwitchRequest(userAppId: Self.identity, cloudFolderName: "F"), proving: old)

        let exchange = bench.executor.exchanges.first
        #expect(Self.header("SyncServer-Device-Grant", exchange) == Self.grant.secret)
        #expect(
            Self.header("SyncServer-Old-Account-Proof", exchange) == #"{"accessToken":"tok\"en","accountID":"dbid:1"}"#)
    }

    @Test("A repeated upload sends the file, and returns the outcome")
    func reupload() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "reupload-\(UUID().uuidString)")
        try Data("Hello World".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let digits = try await SHA256Digits.ofFile(at: file)
        #expect(digits.queryText == "a591a6d40bf420404a011733cfb7b190d62c65bf0bcda32b57b277d9ad9f146e")
        let request = ReuploadFileRequest(
            fileUUID: Sample.file, sharingGroupUUID: Sample.group, fileVersion: FileVersion(3),
            mimeType: MIMEType("text/plain")!, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5")!,
            switchId: Self.switchID, contentSHA256: digits)
        let bench = bench(.message(ReuploadFileResponse.stored))

        let outcome = try await bench.connection.reuploadFile(request, from: file)

        guard case .success(.stored) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let exchange = try #require(bench.executor.exchanges.first)
        let query = exchange.request.path?.split(separator: "?").last.map(String.init) ?? ""
        #expect(try ReuploadFileRequest(query: query) == request)
        guard case .file(file) = exchange.body else {
            Issue.record("\(exchange.body)")
            return
        }
    }

    @Test("A waiting download is distinguished from a permanently unavailable one")
    func awaiting() async throws {
        let waiting = DownloadFileResponse.gone(
            appMetaData: nil, cloudStorageType: .dropbox, reason: .authTokenExpiredOrRevoked,
            detail: .awaitingReupload)
        let target = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID().uuidString)")

        let outcome = try await bench(.message(waiting)).connection.downloadFile(Sample.download, to: target)

        #expect(
            outcome
                == .gone(Gone(.authTokenExpiredOrRevoked, cloudStorageType: .dropbox, isAwaitingReupload: true)))
    }
}
