import Foundation
import SyncProtocol
import Testing

@Suite("Replies of other servers")
struct LenientReplyTests {
    private func read<Message: Decodable>(_ json: String, as type: Message.Type = Message.self) throws -> Message {
        try JSONDecoder().decode(type, from: Data(json.utf8))
    }

    @Test("Numbers may be strings, and unknown members are ignored")
    func numbersAsText() throws {
        #expect(try read(#"{"userId":"7","new":{"a":[1]}}"#, as: UserIDResponse.self).userId == UserID(7))
        #expect(
            try read(#"{"numberUploadsTransferred":"3"}"#, as: DoneUploadsResponse.self)
                == .committed(numberUploadsTransferred: 3))
        #expect(
            try read(#"{"masterVersionUpdate":"9"}"#, as: StagingResponse.self) == .stale(current: MasterVersion(9)))
        #expect(
            try read(#"{"numberUploadsDiscarded":"2"}"#, as: DiscardUploadsResponse.self).numberUploadsDiscarded == 2)
        let health: HealthCheckResponse = try read(
            #"{"currentServerDateTime":"2020-05-01 09:30:00","serverUptime":"1.5","deployedGitTag":"0.25.1"}"#)
        #expect(health.serverUptime == 1.5)
        let invitations: GetSharingInvitationsResponse = try read(
            """
            {"sharingInvitations":[{"sharingInvitationUUID":"\(Sample.invitation)","permission":"read",
            "allowSocialAcceptance":false,"numberOfAcceptors":"2","expirationDate":"2020-05-01 09:30:00",
            "invitingUserId":"5"}]}
            """)
        #expect(invitations.sharingInvitations[0].numberOfAcceptors == 2)
    }

    @Test("A string that is not a number is rejected", arguments: ["seven", "", "7.5", "99999999999999999999"])
    func noNumber(text: String) {
        #expect(throws: DecodingError.self) { try read(#"{"userId":"\#(text)"}"#, as: UserIDResponse.self) }
    }

    @Test("Members that deployed clients do not need may be missing or null")
    func missing() throws {
        let index: IndexResponse = try read(
            """
            {"masterVersion":4,
             "fileIndex":[{"fileUUID":"\(Sample.file)","sharingGroupUUID":"g","fileVersion":"1","deviceUUID":null,
                           "cloudStorageType":"Box","mimeType":"image/heic"}],
             "sharingGroups":[{"sharingGroupUUID":"g","masterVersion":"4","permission":"admin",
                               "cloudStorageType":"Box","sharingGroupName":null}]}
            """)
        let file = try #require(index.files?.fileIndex.first)
        #expect(!file.deleted)
        #expect(file.fileVersion == FileVersion(1))
        #expect(file.deviceUUID == nil)
        #expect(file.cloudStorageType == nil, "a storage unknown to this version")
        #expect(file.mimeType == MIMEType("image/heic"))
        let group = try #require(index.sharingGroups.first)
        #expect(group.masterVersion == MasterVersion(4))
        #expect(group.sharingGroupUsers.isEmpty)
        #expect(!group.deleted)
        #expect(group.cloudStorageType == nil)
    }

    @Test("An unknown value of gone is ignored, as by deployed clients, and contentsChanged may be missing")
    func unknownGone() throws {
        let reply: DownloadFileResponse = try read(
            #"{"gone":"movedToMars","cloudStorageType":"Google","checkSum":"0a"}"#)
        #expect(
            reply
                == .found(
                    appMetaData: nil, cloudStorageType: .google, checkSum: try #require(CheckSum("0a")),
                    contentsChanged: false))
    }

    @Test("An unknown permission makes a reply unreadable, since its meaning cannot be guessed")
    func unknownPermission() {
        #expect(throws: DecodingError.self) {
            try read(
                #"{"sharingGroups":[{"sharingGroupUUID":"g","masterVersion":4,"permission":"owner"}]}"#,
                as: IndexResponse.self)
        }
    }

    @Test("An error body is decoded even if members are missing")
    func errorBodies() throws {
        let ours = ErrorBody(
            error: "no", code: "not_a_member", requestId: "ab", retryable: false, goneReason: .userRemoved, status: 410,
            isProblem: true)
        let read: ReceivedErrorBody = try JSONDecoder().decode(ReceivedErrorBody.self, from: Data(ours.body))
        #expect(read.code == "not_a_member")
        #expect(read.requestId == "ab")
        #expect(read.retryable == false)
        #expect(read.goneReason == .userRemoved)
        #expect(read.status == 410)
        #expect(read.title == "Gone")
        #expect(read.detail == "no")

        let old: ReceivedErrorBody = try self.read(#"{"error":"Failed","goneReason":"elsewhere","retryable":"no"}"#)
        #expect(old.error == "Failed")
        #expect(old.code == nil)
        #expect(old.goneReason == nil)
        #expect(old.retryable == nil)
    }
}
