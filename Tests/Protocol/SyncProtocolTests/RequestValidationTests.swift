import SyncProtocol
import Testing

/// A query for one endpoint that must be rejected, with the reason.
struct RefusedCase: Sendable, CustomTestStringConvertible {
    var endpoint: EndpointName
    var query: String
    var error: RequestError
    private var decode: @Sendable (String) throws(RequestError) -> Void

    init<Request: RequestMessage>(_ type: Request.Type, _ query: String, _ error: RequestError) {
        endpoint = Request.endpoint
        self.query = query
        self.error = error
        decode = { (query) throws(RequestError) in _ = try Request(query: query) }
    }

    func run() throws(RequestError) {
        try decode(query)
    }

    var testDescription: String { "\(endpoint.rawValue)?\(query.suffix(60))" }
}

@Suite("Validation of requests")
struct RequestValidationTests {
    static let file = "fileUUID=11111111-1111-4111-8111-111111111111"
    static let group = "sharingGroupUUID=22222222-2222-4222-8222-222222222222"
    static let invitation = "sharingInvitationUUID=44444444-4444-4444-8444-444444444444"
    static let upload = "&fileVersion=0&masterVersion=4&mimeType=text%2Fplain&\(group)"

    static let refused: [RefusedCase] = [
        .init(UploadFileRequest.self, "checkSum=0a&fileUUID=foobar\(upload)", .malformed(.fileUUID, expected: .uuid)),
        .init(UploadFileRequest.self, "checkSum=0a\(upload)", .missing(.fileUUID)),
        .init(UploadFileRequest.self, "\(file)\(upload)", .missing(.checkSum)),
        .init(UploadFileRequest.self, "checkSum=&\(file)\(upload)", .malformed(.checkSum, expected: .hexadecimal)),
        .init(UploadFileRequest.self, "checkSum=xy&\(file)\(upload)", .malformed(.checkSum, expected: .hexadecimal)),
        .init(
            UploadFileRequest.self,
            "checkSum=0a&\(file)&fileVersion=0&masterVersion=4&mimeType=a%2Fb&sharingGroupUUID=g",
            .malformed(.sharingGroupUUID, expected: .uuid)),
        .init(
            UploadFileRequest.self, "checkSum=0a&\(file)&fileVersion=0&masterVersion=4&mimeType=&\(group)",
            .malformed(.mimeType, expected: .mimeType)),
        .init(
            UploadFileRequest.self, "checkSum=0a&fileGroupUUID=\(String(repeating: "x", count: 37))&\(file)\(upload)",
            .malformed(.fileGroupUUID, expected: .identifier)),
        .init(
            UploadFileRequest.self, "checkSum=0a&fileGroupUUID=&\(file)\(upload)",
            .malformed(.fileGroupUUID, expected: .identifier)),
        .init(
            UploadFileRequest.self, "appMetaData=foobar&checkSum=0a&\(file)\(upload)",
            .malformed(.appMetaData, expected: .appMetaData)),
        .init(
            UploadFileRequest.self, "appMetaData=%7B%22version%22%3A0&checkSum=0a&\(file)\(upload)",
            .malformed(.appMetaData, expected: .appMetaData)),
        .init(
            UploadFileRequest.self, "appMetaData=%7B%7D&checkSum=0a&\(file)\(upload)",
            .malformed(.appMetaData, expected: .appMetaData)),
        .init(
            UploadFileRequest.self, "checkSum=0a&\(file)\(upload)&undeleteServerFile=yes",
            .malformed(.undeleteServerFile, expected: .boolean)),
        .init(
            UploadFileRequest.self, "checkSum=0a&\(file)\(upload)&undeleteServerFile=",
            .malformed(.undeleteServerFile, expected: .boolean)),
        .init(
            UploadFileRequest.self, "checkSum=0a&\(file)\(upload)&undeleteServerFile=True",
            .malformed(.undeleteServerFile, expected: .boolean)),
        .init(UploadDeletionRequest.self, "\(file)&masterVersion=1&\(group)", .missing(.fileVersion)),
        .init(UploadDeletionRequest.self, "\(file)&fileVersion=1&\(group)", .missing(.masterVersion)),
        .init(UploadDeletionRequest.self, "\(file)&fileVersion=1&masterVersion=1", .missing(.sharingGroupUUID)),
        .init(
            UploadDeletionRequest.self, "\(file)&fileVersion=1&masterVersion=1&sharingGroupUUID=",
            .malformed(.sharingGroupUUID, expected: .identifier)),
        .init(GetUploadsRequest.self, "", .missing(.sharingGroupUUID)),
        .init(GetUploadsRequest.self, "sharingGroupUUID=foobar", .malformed(.sharingGroupUUID, expected: .uuid)),
        .init(AddUserRequest.self, "", .missing(.sharingGroupUUID)),
        .init(
            AddUserRequest.self, "sharingGroupName=\(String(repeating: "%C3%A4", count: 256))&\(group)",
            .tooLong(.sharingGroupName, maximumCharacters: 255)),
        .init(
            AddUserRequest.self, "cloudFolderName=\(String(repeating: "a", count: 257))&\(group)",
            .tooLong(.cloudFolderName, maximumCharacters: 256)),
        .init(CreateSharingGroupRequest.self, "sharingGroupName=x", .missing(.sharingGroupUUID)),
        .init(UpdateSharingGroupRequest.self, "masterVersion=1&\(group)", .missing(.sharingGroupName)),
        .init(RemoveSharingGroupRequest.self, group, .missing(.masterVersion)),
        .init(RemoveUserFromSharingGroupRequest.self, "masterVersion=1", .missing(.sharingGroupUUID)),
        .init(RegisterPushNotificationTokenRequest.self, "", .missing(.pushNotificationToken)),
        .init(
            RegisterPushNotificationTokenRequest.self, "pushNotificationKind=sns&pushNotificationToken=a",
            .malformed(.pushNotificationKind, expected: .pushNotificationKind)),
        .init(
            RegisterPushNotificationTokenRequest.self, "pushNotificationEnvironment=test&pushNotificationToken=a",
            .malformed(.pushNotificationEnvironment, expected: .pushNotificationEnvironment)),
        .init(
            RegisterPushNotificationTokenRequest.self,
            "pushNotificationToken=\(String(repeating: "a", count: 4_097))",
            .tooLong(.pushNotificationToken, maximumCharacters: 4_096)),
        .init(DownloadAppMetaDataRequest.self, "\(file)&masterVersion=1&\(group)", .missing(.appMetaDataVersion)),
        .init(CreateSharingInvitationRequest.self, group, .missing(.permission)),
        .init(
            CreateSharingInvitationRequest.self, "permission=owner&\(group)",
            .malformed(.permission, expected: .permission)),
        .init(
            CreateSharingInvitationRequest.self, "permission=Read&\(group)",
            .malformed(.permission, expected: .permission)),
        .init(
            CreateSharingInvitationRequest.self, "numberOfAcceptors=0&permission=read&\(group)",
            .outOfRange(.numberOfAcceptors, allowed: 1...10)),
        .init(
            CreateSharingInvitationRequest.self, "numberOfAcceptors=11&permission=read&\(group)",
            .outOfRange(.numberOfAcceptors, allowed: 1...10)),
        .init(GetSharingInvitationInfoRequest.self, "", .missing(.sharingInvitationUUID)),
        .init(
            GetSharingInvitationInfoRequest.self, "sharingInvitationUUID=foobar",
            .malformed(.sharingInvitationUUID, expected: .uuid)),
        .init(RedeemSharingInvitationRequest.self, "cloudFolderName=x", .missing(.sharingInvitationUUID)),
    ]

    @Test("Missing, malformed and out-of-range parameters are rejected by name", arguments: refused)
    func refuses(example: RefusedCase) {
        #expect(throws: example.error) { try example.run() }
    }

    @Test(
        "A number consists of decimal digits only",
        arguments: [
            "", ":", "/", "5:", "+5", "-5", " 5", "5 ", "%205", "5.0", "5e0", "0x5", "५", "1_000", "1,000",
            "99999999999999999999",
            "true",
        ])
    func strictNumbers(text: String) {
        #expect(throws: RequestError.malformed(.masterVersion, expected: .integer64)) {
            try RemoveSharingGroupRequest(query: "masterVersion=\(text)&\(Self.group)")
        }
    }

    @Test("A fileUUID that is not a UUID is rejected in UploadFile [320]")
    func foobar() {
        #expect(throws: RequestError.malformed(.fileUUID, expected: .uuid)) {
            try UploadFileRequest(query: "checkSum=0a&fileUUID=foobar\(Self.upload)")
        }
    }

    @Test(
        "RedeemSharingInvitation accepts any UUID, of any version and letter case, and keeps its spelling [321]",
        arguments: [
            "8A1F4D6E-3B0C-4F5A-9D7E-2C6B1A0F9E8D", "8a1f4d6e-3b0c-4f5a-9d7e-2c6b1a0f9e8d",
            "8A1f4d6E-3b0C-1f5A-9d7e-2C6b1a0F9e8D", "00000000-0000-0000-0000-000000000000",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        ])
    func redeem(uuid: String) throws {
        let request = try RedeemSharingInvitationRequest(query: "sharingInvitationUUID=\(uuid)")
        #expect(request.sharingInvitationUUID.rawValue == uuid)
    }

    @Test("RedeemSharingInvitation without an invitation is rejected [322]")
    func redeemNothing() {
        #expect(throws: RequestError.missing(.sharingInvitationUUID)) { try RedeemSharingInvitationRequest(query: "") }
    }

    @Test("GetSharingInvitationInfo accepts a UUID, and rejects other text [324] [274]")
    func invitationInfo() throws {
        _ = try GetSharingInvitationInfoRequest(query: Self.invitation)
        #expect(throws: RequestError.malformed(.sharingInvitationUUID, expected: .uuid)) {
            try GetSharingInvitationInfoRequest(query: "sharingInvitationUUID=foobar")
        }
    }

    @Test("Omitted options of an invitation default to true and 1 [267]")
    func invitationDefaults() throws {
        let request = try CreateSharingInvitationRequest(query: "permission=read&\(Self.group)")
        #expect(request.allowSocialAcceptance)
        #expect(request.numberOfAcceptors == 1)
    }

    @Test(
        "Booleans are written as 1, 0, true and false",
        arguments: [("1", true), ("0", false), ("true", true), ("false", false)])
    func booleans(text: String, value: Bool) throws {
        let request = try CreateSharingInvitationRequest(
            query: "allowSocialAcceptance=\(text)&permission=read&\(Self.group)")
        #expect(request.allowSocialAcceptance == value)
    }

    @Test("Names of 255 characters are accepted, regardless of their size in bytes")
    func longestName() throws {
        let name = String(repeating: "😀", count: 255)
        let request = CreateSharingGroupRequest(sharingGroupUUID: Sample.group, sharingGroupName: name)
        #expect(try CreateSharingGroupRequest(query: request.encodedQuery).sharingGroupName == name)
    }

    @Test("An empty name is a name, and differs from a missing one")
    func emptyName() throws {
        #expect(try CreateSharingGroupRequest(query: "sharingGroupName=&\(Self.group)").sharingGroupName == "")
        #expect(try CreateSharingGroupRequest(query: Self.group).sharingGroupName == nil)
    }

    @Test("Any text is accepted as a sharing group where the tables do not require a UUID")
    func oddGroup() throws {
        #expect(try IndexRequest(query: "sharingGroupUUID=../etc").sharingGroupUUID?.rawValue == "../etc")
    }

    @Test("Errors name the parameter and the remedy, and never repeat the request's contents")
    func descriptions() {
        let secret = "s3cr3t"
        for query in ["fileUUID=\(secret)", "masterVersion=\(secret)", "\(secret)=%", "checkSum=\(secret)&checkSum=x"] {
            do throws(RequestError) {
                _ = try UploadFileRequest(query: query)
                Issue.record("expected an error")
            } catch {
                #expect(!error.description.contains(secret))
            }
        }
        #expect(RequestError.missing(.fileUUID).description == "fileUUID is missing")
        #expect(
            RequestError.malformed(.masterVersion, expected: .integer64).description
                == "masterVersion must be decimal digits, at most 9223372036854775807")
        #expect(
            RequestError.outOfRange(.numberOfAcceptors, allowed: 1...10).description
                == "numberOfAcceptors must be 1 to 10")
    }
}
