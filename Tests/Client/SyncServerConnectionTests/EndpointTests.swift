import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("The request and result of each endpoint's function")
struct EndpointTests {
    /// Sends one request with the reply `reply`, and parses the request as the server does.
    private func sent<Message: RequestMessage>(
        _ message: Message, reply: HTTPReply,
        _ send: (ServerConnection) async throws(ServerConnectionError) -> Void
    ) async throws -> HTTPExchange {
        let bench = Bench(.success(reply))
        try await send(bench.connection)
        let exchange = try #require(bench.executor.exchanges.first)
        #expect(bench.requestCount == 1)
        #expect(exchange.request.scheme == "https")
        #expect(exchange.request.authority == "sync.example.com:8443")

        let target = try #require(exchange.request.path).split(separator: "?", maxSplits: 1)
        let lookup = RouteLookup(
            method: exchange.request.method.rawValue, path: String(target[0]), prefix: "/prefix", debug: true)
        #expect(lookup == .found(Message.endpoint.route))
        #expect(try Message(query: target.count > 1 ? String(target[1]) : "") == message)

        let fields = exchange.request.headerFields
        #expect(fields[HTTPField.Name("SyncServer-Device-UUID")!] == Sample.device.rawValue)
        let isPublic = Message.endpoint.route.authentication == .none
        #expect(fields[HTTPField.Name("X-token-type")!] == (isPublic ? nil : "GoogleToken"))
        #expect(fields[HTTPField.Name("access-token")!] == (isPublic ? nil : "token"))
        #expect(exchange.idleTimeout == .seconds(60))
        return exchange
    }

    private static let group = Sample.group
    private static let version = Sample.version

    @Test("Users")
    func users() async throws {
        let health = HealthCheckResponse(
            currentServerDateTime: Sample.date, serverUptime: 1.5, deployedGitTag: "1.0.0")
        _ = try await sent(HealthCheckRequest(), reply: .reply(200, text(health))) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.healthCheck() == health)
        }
        _ = try await sent(CheckCredsRequest(reportIdentity: true), reply: .reply(200, #"{"userId":7}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.checkCredentials() == .user(SignedInUser(userID: UserID(7))))
        }
        let add = AddUserRequest(
            sharingGroupUUID: Self.group, sharingGroupName: "Tom & Jerry = 100 % +", cloudFolderName: "Folder")
        _ = try await sent(add, reply: .reply(200, #"{"userId":"7"}"#)) { connection throws(ServerConnectionError) in
            #expect(try await connection.addUser(add).userID == UserID(7))
        }
        _ = try await sent(RemoveUserRequest(), reply: .reply()) { connection throws(ServerConnectionError) in
            try await connection.removeUser()
        }
        let register = RegisterPushNotificationTokenRequest(
            pushNotificationToken: "0a&b", pushNotificationKind: .apns, pushNotificationEnvironment: .sandbox)
        _ = try await sent(register, reply: .reply()) { connection throws(ServerConnectionError) in
            try await connection.registerPushNotificationToken(register)
        }
    }

    @Test("Index, with and without a condition")
    func index() async throws {
        let response = IndexResponse(
            files: .init(masterVersion: Self.version, since: MasterVersion(2), fileIndex: []), sharingGroups: [])
        let request = IndexRequest(sharingGroupUUID: Self.group, since: MasterVersion(2))
        let plain = try await sent(request, reply: .reply(200, text(response), headers: ["ETag": "\"x\""])) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.index(request) == .changed(response, entityTag: "\"x\""))
            #expect(await connection.extensions == .present)
        }
        #expect(plain.request.headerFields[.ifNoneMatch] == nil)

        let conditional = try await sent(request, reply: .reply(304, "", headers: ["ETag": "\"x\""])) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.index(request, ifChangedFrom: "\"x\"") == .unchanged)
        }
        #expect(conditional.request.headerFields[.ifNoneMatch] == "\"x\"")
    }

    @Test("304 without a condition is an error")
    func unasked() async {
        let bench = Bench(.success(.reply(304, "")))
        let error = await failure { () throws(ServerConnectionError) in try await bench.connection.index(IndexRequest())
        }
        #expect(error?.code == .invalidReply)
    }

    @Test("Uploads: the body is the file, and the reply is in the header")
    func upload() async throws {
        let file = URL(filePath: "/files/cat.jpg")
        for (response, outcome) in [
            (
                UploadFileResponse.staged(creationDate: Sample.date, updateDate: Sample.date),
                Outcome.success(StagedFile(creationDate: Sample.date, updateDate: Sample.date))
            ),
            (
                .committed(creationDate: Sample.date, updateDate: Sample.date, masterVersion: MasterVersion(5)),
                .success(
                    StagedFile(
                        creationDate: Sample.date, updateDate: Sample.date, committedMasterVersion: MasterVersion(5)))
            ),
            (.stale(current: MasterVersion(9)), .stale(current: MasterVersion(9))),
        ] {
            let exchange = try await sent(Sample.upload, reply: .message(response)) {
                connection throws(ServerConnectionError) in
                #expect(try await connection.uploadFile(Sample.upload, from: file) == outcome)
            }
            #expect(exchange.body == .file(file))
            #expect(exchange.request.headerFields[.contentType] == "application/octet-stream")
        }
    }

    @Test("Changes without bytes, and their commit")
    func changes() async throws {
        let batch = UploadBatch(
            batchUUID: BatchUUID("66666666-6666-4666-8666-66666666666a")!, batchCount: 2,
            pushNotificationMessage: "a & b")
        let metadata = UploadAppMetaDataRequest(
            fileUUID: Sample.file, appMetaData: AppMetaData(version: .first, contents: "{\"a&b\":1}"),
            masterVersion: Self.version, sharingGroupUUID: Self.group, batch: batch)
        let exchange = try await sent(metadata, reply: .reply(200, #"{"committedMasterVersion":5}"#)) {
            connection throws(ServerConnectionError) in
            #expect(
                try await connection.uploadAppMetaData(metadata)
                    == .success(StagedChange(committedMasterVersion: MasterVersion(5))))
        }
        #expect(exchange.body == .none)
        _ = try await sent(Sample.deletion, reply: .reply()) { connection throws(ServerConnectionError) in
            #expect(try await connection.uploadDeletion(Sample.deletion) == .success(StagedChange()))
        }
        _ = try await sent(Sample.deletion, reply: .reply(200, #"{"masterVersionUpdate":9}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.uploadDeletion(Sample.deletion) == .stale(current: MasterVersion(9)))
        }
        let file = FileInfo(fileUUID: Sample.file, sharingGroupUUID: Self.group, deleted: true)
        _ = try await sent(
            GetUploadsRequest(sharingGroupUUID: Self.group),
            reply: .reply(200, text(GetUploadsResponse(uploads: [file])))
        ) { connection throws(ServerConnectionError) in
            #expect(try await connection.uploads(in: Self.group) == [file])
        }
        let discard = DiscardUploadsRequest(sharingGroupUUID: Self.group, fileUUIDs: [Sample.file])
        _ = try await sent(discard, reply: .reply(200, #"{"numberUploadsDiscarded":2}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.discardUploads(discard) == 2)
        }
        let commit = DoneUploadsRequest(
            masterVersion: Self.version, sharingGroupUUID: Self.group, sharingGroupName: "new & name",
            pushNotificationMessage: "a=b&masterVersion=9", commitID: Sample.commit)
        _ = try await sent(commit, reply: .reply(200, #"{"numberUploadsTransferred":2}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.doneUploads(commit) == .success(2))
        }
        _ = try await sent(commit, reply: .reply(200, #"{"masterVersionUpdate":9}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.doneUploads(commit) == .stale(current: MasterVersion(9)))
        }
    }

    @Test(
        "Metadata that proxies reject in a query are sent as the body, or in the query to a server without support",
        arguments: [("\"", 6_000), ("x", 6_000)])
    func longMetadata(character: String, count: Int) async throws {
        let metadata = AppMetaData(version: .first, contents: String(repeating: character, count: count))
        let request = UploadAppMetaDataRequest(
            fileUUID: Sample.file, appMetaData: metadata, masterVersion: Self.version, sharingGroupUUID: Self.group)
        let rest = UploadAppMetaDataRequest(
            fileUUID: Sample.file, appMetaData: nil, masterVersion: Self.version, sharingGroupUUID: Self.group)
        let exchange = try await sent(rest, reply: .reply()) { connection throws(ServerConnectionError) in
            _ = try await connection.uploadAppMetaData(request)
        }
        guard case .bytes(let body) = exchange.body else {
            Issue.record("expected a body")
            return
        }
        #expect(try AppMetaData(jsonText: String(decoding: body, as: UTF8.self)) == metadata)

        let older = Bench(.success(.reply(200, #"{"sharingGroups":[]}"#)), .success(.reply()))
        _ = try await older.connection.index(IndexRequest())
        _ = try await older.connection.uploadAppMetaData(request)
        let query = try #require(older.executor.exchanges[1].request.path?.split(separator: "?").last)
        #expect(try UploadAppMetaDataRequest(query: query) == request)
    }

    @Test("Downloaded metadata")
    func metadata() async throws {
        let request = DownloadAppMetaDataRequest(
            fileUUID: Sample.file, appMetaDataVersion: .first, masterVersion: Self.version,
            sharingGroupUUID: Self.group)
        _ = try await sent(request, reply: .reply(200, #"{"appMetaData":"about it"}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.downloadAppMetaData(request) == .success("about it"))
        }
        _ = try await sent(request, reply: .reply(200, #"{"masterVersionUpdate":9}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.downloadAppMetaData(request) == .stale(current: MasterVersion(9)))
        }
    }

    @Test("Groups and their members")
    func groups() async throws {
        let create = CreateSharingGroupRequest(sharingGroupUUID: Self.group, sharingGroupName: "ä & ö")
        _ = try await sent(create, reply: .reply()) { connection throws(ServerConnectionError) in
            try await connection.createSharingGroup(create)
        }
        let rename = UpdateSharingGroupRequest(
            sharingGroupUUID: Self.group, sharingGroupName: "new", masterVersion: Self.version)
        _ = try await sent(rename, reply: .reply()) { connection throws(ServerConnectionError) in
            #expect(try await connection.updateSharingGroup(rename).value != nil)
        }
        let remove = RemoveSharingGroupRequest(sharingGroupUUID: Self.group, masterVersion: Self.version)
        _ = try await sent(remove, reply: .reply(200, #"{"masterVersionUpdate":9}"#)) {
            connection throws(ServerConnectionError) in
            guard case .stale(MasterVersion(9)) = try await connection.removeSharingGroup(remove) else {
                Issue.record("expected a stale result")
                return
            }
        }
        let leave = RemoveUserFromSharingGroupRequest(sharingGroupUUID: Self.group, masterVersion: Self.version)
        _ = try await sent(leave, reply: .reply()) { connection throws(ServerConnectionError) in
            #expect(try await connection.removeUserFromSharingGroup(leave).value != nil)
        }
        let members = GetSharingGroupMembersResponse(
            masterVersion: Self.version,
            sharingGroupMembers: [.init(userId: UserID(1), name: "Ann", permission: .admin, owningUserId: nil)])
        _ = try await sent(
            GetSharingGroupMembersRequest(sharingGroupUUID: Self.group), reply: .reply(200, text(members))
        ) { connection throws(ServerConnectionError) in
            #expect(try await connection.sharingGroupMembers(Self.group) == members)
        }
        let promote = UpdateSharingGroupMemberRequest(
            sharingGroupUUID: Self.group, masterVersion: Self.version, userID: UserID(2), permission: .write)
        _ = try await sent(promote, reply: .reply()) { connection throws(ServerConnectionError) in
            #expect(try await connection.updateSharingGroupMember(promote).value != nil)
        }
        let expel = RemoveSharingGroupMemberRequest(
            sharingGroupUUID: Self.group, masterVersion: Self.version, userID: UserID(2))
        _ = try await sent(expel, reply: .reply()) { connection throws(ServerConnectionError) in
            #expect(try await connection.removeSharingGroupMember(expel).value != nil)
        }
    }

    @Test("Invitations")
    func invitations() async throws {
        let create = CreateSharingInvitationRequest(
            permission: .read, sharingGroupUUID: Self.group, allowSocialAcceptance: false, numberOfAcceptors: 3)
        _ = try await sent(create, reply: .reply(200, #"{"sharingInvitationUUID":"\#(Sample.invitation)"}"#)) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.createSharingInvitation(create) == Sample.invitation)
        }
        let info = GetSharingInvitationInfoRequest(sharingInvitationUUID: Sample.invitation)
        let response = GetSharingInvitationInfoResponse(
            permission: .read, allowSocialAcceptance: true, sharingGroupName: "Summer", invitingUserName: "Ada")
        _ = try await sent(info, reply: .reply(200, text(response))) { connection throws(ServerConnectionError) in
            #expect(try await connection.sharingInvitationInfo(Sample.invitation) == response)
        }
        _ = try await sent(info, reply: .error(410, "invitation_gone")) { connection throws(ServerConnectionError) in
            #expect(try await connection.sharingInvitationInfo(Sample.invitation) == nil)
        }
        _ = try await sent(
            GetSharingInvitationsRequest(sharingGroupUUID: Self.group),
            reply: .reply(200, #"{"sharingInvitations":[]}"#)
        ) { connection throws(ServerConnectionError) in
            #expect(try await connection.sharingInvitations(to: Self.group).isEmpty)
        }
        let revoke = RevokeSharingInvitationRequest(
            sharingGroupUUID: Self.group, sharingInvitationUUID: Sample.invitation)
        _ = try await sent(revoke, reply: .reply()) { connection throws(ServerConnectionError) in
            try await connection.revokeSharingInvitation(revoke)
        }
        let redeem = RedeemSharingInvitationRequest(
            sharingInvitationUUID: Sample.invitation, cloudFolderName: "Folder")
        _ = try await sent(redeem, reply: .error(403, "storage_account_required")) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.redeemSharingInvitation(redeem) == .storageAccountRequired)
        }
        _ = try await sent(redeem, reply: .error(404, "invitation_unknown")) {
            connection throws(ServerConnectionError) in
            #expect(try await connection.redeemSharingInvitation(redeem) == .invitationUnknown)
        }
    }

    @Test("410 with a reason is a result, with the server's code")
    func gone() async throws {
        for (code, reason) in [
            ("not_a_member", GoneReason.userRemoved), ("owner_removed", .userRemoved),
            ("cloud_authorization_revoked", .authTokenExpiredOrRevoked),
        ] {
            let reply = HTTPReply.error(410, code, goneReason: reason)
            let gone = Gone(reason, serverCode: ServerErrorCode(rawValue: code))
            let connection = Bench(.success(reply)).connection
            let file = URL(filePath: "/nowhere")
            #expect(try await connection.uploadFile(Sample.upload, from: file) == .gone(gone))
            #expect(try await connection.uploadDeletion(Sample.deletion) == .gone(gone))
            #expect(try await connection.doneUploads(Sample.commitWithID) == .gone(gone))
            #expect(try await connection.downloadFile(Sample.download, to: file) == .gone(gone))
        }
    }

    @Test("410 without a reason is an error")
    func goneWithoutReason() async {
        let connection = Bench(.success(.reply(410, "<html>"))).connection
        let error = await failure { () throws(ServerConnectionError) in
            try await connection.doneUploads(Sample.commitWithID)
        }
        #expect(error?.code == .gone)
        #expect(error?.goneReason == nil)
    }

    @Test("An endpoint missing on an older server is reported as not supported")
    func notSupported() async {
        for reply in [HTTPReply.reply(404, "Cannot POST /DiscardUploads/."), .error(404, "endpoint_unknown")] {
            let connection = Bench(.success(reply)).connection
            let error = await failure { () throws(ServerConnectionError) in
                try await connection.discardUploads(DiscardUploadsRequest(sharingGroupUUID: Self.group))
            }
            #expect(error?.code == .notSupported)
        }
        let connection = Bench(.success(.error(404, "member_unknown"))).connection
        let error = await failure { () throws(ServerConnectionError) in
            _ = try await connection.removeSharingGroupMember(
                RemoveSharingGroupMemberRequest(
                    sharingGroupUUID: Self.group, masterVersion: Self.version, userID: UserID(2)))
        }
        #expect(error?.code == .refused)
        #expect(error?.serverCode == .known(.memberUnknown))
    }

    @Test("Each account type has its headers, in ASCII")
    func accountHeaders() async throws {
        let bench = Bench(.success(.reply(200, #"{"userId":1}"#)))
        func headers(_ credentials: Credentials) async throws -> HTTPFields {
            struct Fixed: CredentialProvider {
                let value: Credentials
                func credentials() async -> Credentials? { value }
                func refresh(_ refused: Credentials) async throws -> Credentials { refused }
            }
            let executor = bench.executor
            let configuration = ServerConnectionConfiguration(
                baseURL: URL(string: "https://sync.example.com")!, deviceUUID: Sample.device)
            _ = try await ServerConnection(
                configuration, credentialProvider: Fixed(value: credentials), executor: executor
            ).checkCredentials()
            return try #require(executor.exchanges.last).request.headerFields
        }
        func name(_ text: String) -> HTTPField.Name { HTTPField.Name(text)! }

        let dropbox = try await headers(
            Credentials(
                accountType: .dropbox, accessToken: Secret("a"), authorizationCode: Secret("code verifier"),
                accountID: "dbid:1"))
        #expect(dropbox[name("X-token-type")] == "DropboxToken")
        #expect(dropbox[name("X-account-id")] == "dbid:1")
        #expect(dropbox[name("SyncServer-authorization-code")] == "code verifier")

        let microsoft = try await headers(
            Credentials(accountType: .microsoft, accessToken: Secret("id"), microsoftAccessToken: Secret("access")))
        #expect(microsoft[name("X-token-type")] == "MicrosoftToken")
        #expect(microsoft[name("X-microsoft-access-token")] == "access")

        let apple = try await headers(
            Credentials(
                accountType: .appleSignIn, accessToken: Secret("id"),
                accountDetails: AccountDetails(fullName: "Zoë \"Z\"\n", email: "z@example.com")))
        #expect(apple[name("X-token-type")] == "AppleSignInToken")
        #expect(apple[name("X-account-details")] == #"{"fullName":"Zo\u00eb \"Z\"\n","email":"z@example.com"}"#)
        #expect(
            try await headers(Credentials(accountType: .facebook, accessToken: Secret("f")))[name("X-token-type")]
                == "FacebookToken")
    }

    @Test(
        "With a base URL that is not HTTP, nothing is sent", arguments: ["file:///x", "mailto:a@example.com", "https:"])
    func baseURL(text: String) async {
        let bench = Bench(ScriptedExecutor([.success(.reply())]), change: { $0.baseURL = URL(string: text)! })
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.healthCheck()
        }
        #expect(error?.code == .invalidRequest)
        #expect(bench.requestCount == 0)
    }

    @Test(
        "The base URL may have a port, a prefix, a trailing slash, or an IPv6 address",
        arguments: [
            ("https://example.com", "example.com", "/HealthCheck/"),
            ("https://example.com/", "example.com", "/HealthCheck/"),
            ("http://example.com:81/a/b", "example.com:81", "/a/b/HealthCheck/"),
            ("http://example.com/a%20b/", "example.com", "/a%20b/HealthCheck/"),
            ("https://[::1]:8443/", "[::1]:8443", "/HealthCheck/"), ("https://[::1]", "[::1]", "/HealthCheck/"),
        ])
    func target(text: String, authority: String, path: String) async {
        let bench = Bench(ScriptedExecutor([.success(.reply(500, ""))]), change: { $0.baseURL = URL(string: text)! })
        _ = try? await bench.connection.healthCheck()
        #expect(bench.executor.exchanges[0].request.authority == authority)
        #expect(bench.executor.exchanges[0].request.path == path)
    }

    private func text(_ message: some ResponseMessage) -> String { String(decoding: message.body, as: UTF8.self) }
}
