import Foundation
import SyncProtocol
import Testing

/// Values shared by these tests.
enum Sample {
    static let file = FileUUID("11111111-1111-4111-8111-11111111111A")!
    static let group = SharingGroupUUID("22222222-2222-4222-8222-22222222222b")!
    static let device = DeviceUUID("33333333-3333-4333-8333-333333333333")!
    static let invitation = SharingInvitationUUID("44444444-4444-4444-8444-444444444444")!
    static let nasty = "Tom & Jerry + 100% 'quoted' \"twice\" \\ \n\r\t =;,:[]{}/?# é漢😀\0&x=y"
}

@Suite("Request and reply messages")
struct MessageTests {
    private func survives<Message: RequestMessage>(_ message: Message) throws {
        #expect(try Message(query: message.encodedQuery) == message, "\(Message.endpoint.rawValue)")
        let unambiguous = message.encodedQuery(.unambiguous)
        #expect(try Message(query: unambiguous) == message, "\(Message.endpoint.rawValue)")
        // One separator fewer than parameters, and one `=` each: values cannot be mistaken for either.
        let separators = unambiguous.utf8.count { $0 == UInt8(ascii: "&") }
        #expect(unambiguous.utf8.count { $0 == UInt8(ascii: "=") } == (unambiguous.isEmpty ? 0 : separators + 1))
        #expect(!unambiguous.contains("+"))
    }

    private func survives<Message: ResponseMessage>(_ message: Message) throws {
        #expect(try JSONDecoder().decode(Message.self, from: Data(message.body)) == message)
        #expect(try JSONDecoder().decode(Message.self, from: Data(message.headerText.utf8)) == message)
        #expect(message.headerText.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    }

    @Test("All requests round-trip, with all parameters and with as few as possible")
    func requests() throws {
        try survives(HealthCheckRequest())
        try survives(CheckPrimaryCredsRequest())
        try survives(CheckCredsRequest())
        try survives(RemoveUserRequest())
        try survives(AddUserRequest(sharingGroupUUID: Sample.group))
        try survives(
            AddUserRequest(
                sharingGroupUUID: Sample.group, sharingGroupName: Sample.nasty, cloudFolderName: Sample.nasty))
        try survives(IndexRequest())
        try survives(IndexRequest(sharingGroupUUID: Sample.group, testServerSleep: 3))
        try survives(
            UploadAppMetaDataRequest(
                fileUUID: Sample.file, appMetaData: AppMetaData(version: AppMetaDataVersion(4), contents: Sample.nasty),
                masterVersion: MasterVersion(.max), sharingGroupUUID: Sample.group))
        for actual in [false, true] {
            try survives(
                UploadDeletionRequest(
                    fileUUID: Sample.file, fileVersion: FileVersion(2), masterVersion: MasterVersion(5),
                    sharingGroupUUID: Sample.group, actualDeletion: actual))
        }
        try survives(GetUploadsRequest(sharingGroupUUID: Sample.group))
        try survives(DoneUploadsRequest(masterVersion: MasterVersion(5), sharingGroupUUID: Sample.group))
        try survives(
            DoneUploadsRequest(
                masterVersion: MasterVersion(5), sharingGroupUUID: Sample.group, sharingGroupName: Sample.nasty,
                pushNotificationMessage: Sample.nasty, testLockSync: 1))
        for version in [nil, AppMetaDataVersion(0)] {
            try survives(
                DownloadFileRequest(
                    fileUUID: Sample.file, fileVersion: FileVersion(2), masterVersion: MasterVersion(5),
                    sharingGroupUUID: Sample.group, appMetaDataVersion: version))
        }
        try survives(
            DownloadAppMetaDataRequest(
                fileUUID: Sample.file, appMetaDataVersion: AppMetaDataVersion(2), masterVersion: MasterVersion(5),
                sharingGroupUUID: Sample.group))
        for permission in Permission.allCases {
            try survives(CreateSharingInvitationRequest(permission: permission, sharingGroupUUID: Sample.group))
            try survives(
                CreateSharingInvitationRequest(
                    permission: permission, sharingGroupUUID: Sample.group, allowSocialAcceptance: false,
                    numberOfAcceptors: 10))
        }
        try survives(GetSharingInvitationInfoRequest(sharingInvitationUUID: Sample.invitation))
        try survives(RedeemSharingInvitationRequest(sharingInvitationUUID: Sample.invitation))
        try survives(
            RedeemSharingInvitationRequest(sharingInvitationUUID: Sample.invitation, cloudFolderName: Sample.nasty))
        try survives(CreateSharingGroupRequest(sharingGroupUUID: Sample.group))
        try survives(CreateSharingGroupRequest(sharingGroupUUID: Sample.group, sharingGroupName: Sample.nasty))
        try survives(
            UpdateSharingGroupRequest(
                sharingGroupUUID: Sample.group, sharingGroupName: Sample.nasty, masterVersion: MasterVersion(0)))
        try survives(RemoveSharingGroupRequest(sharingGroupUUID: Sample.group, masterVersion: MasterVersion(1)))
        try survives(
            RemoveUserFromSharingGroupRequest(sharingGroupUUID: Sample.group, masterVersion: MasterVersion(1)))
        try survives(RegisterPushNotificationTokenRequest(pushNotificationToken: Sample.nasty))
        try survives(
            RegisterPushNotificationTokenRequest(
                pushNotificationToken: "0a", pushNotificationKind: .apns, pushNotificationEnvironment: .sandbox))
    }

    @Test("An address in an unknown form counts as absent")
    func unknownForm() throws {
        let upload = try #require(UploadUUID(Sample.file.rawValue))
        let text = """
            {"uploadUUID":"\(upload.rawValue)","directUpload":{"url":"https://example.com/","form":"pigeons",\
            "contentType":"image/jpeg","expires":"2020-05-01 09:30:00"}}
            """
        let reply = try JSONDecoder().decode(CreateUploadResponse.self, from: Data(text.utf8))
        #expect(reply == .created(upload))
    }

    @Test("All replies round-trip, as a body and as a header")
    func replies() throws {
        let date = try #require(WireDate("2020-05-01 09:30:00"))
        try survives(EmptyResponse())
        try survives(UserIDResponse(userId: UserID(.max)))
        try survives(
            HealthCheckResponse(
                currentServerDateTime: date, serverUptime: 12.5, deployedGitTag: "1.0.0", diagnostics: Sample.nasty,
                mimeTypes: [.jpeg, .heic]))
        try survives(MasterVersionCheckedResponse.accepted)
        try survives(MasterVersionCheckedResponse.stale(current: MasterVersion(7)))
        try survives(UploadFileResponse.staged(creationDate: date, updateDate: date))
        try survives(UploadFileResponse.stale(current: MasterVersion(7)))
        let upload = try #require(UploadUUID(Sample.file.rawValue))
        try survives(CreateUploadResponse.created(upload))
        for form in DirectUpload.Form.allCases {
            try survives(
                CreateUploadResponse.created(
                    upload,
                    direct: DirectUpload(
                        url: "https://example.com/a?b=c&d", form: form, contentType: "image/jpeg",
                        granularityBytes: form == .whole ? nil : 262_144, expires: date)))
        }
        try survives(DownloadFileResponse.stale(current: MasterVersion(7)))
        for metadata in [HeaderMetaData.present(nil), "", .present(Sample.nasty), .omitted] {
            try survives(
                DownloadFileResponse.found(
                    appMetaData: metadata, cloudStorageType: .dropbox,
                    checkSum: try #require(CheckSum(String(repeating: "0a", count: 32))), contentsChanged: true))
            try survives(
                DownloadFileResponse.elsewhere(
                    DirectDownload(url: "https://example.com/a?b=c&d", expires: date), appMetaData: metadata,
                    cloudStorageType: .dropbox, checkSum: try #require(CheckSum(String(repeating: "0a", count: 32))),
                    contentsChanged: true))
            try survives(
                DownloadFileResponse.gone(
                    appMetaData: metadata, cloudStorageType: .google, reason: .fileRemovedOrRenamed))
        }
        try survives(DownloadAppMetaDataResponse.found(appMetaData: Sample.nasty))
        try survives(DownloadAppMetaDataResponse.stale(current: MasterVersion(7)))
        try survives(CreateSharingInvitationResponse(sharingInvitationUUID: Sample.invitation))
        try survives(GetSharingInvitationInfoResponse(permission: .admin, allowSocialAcceptance: false))
        try survives(
            GetSharingInvitationInfoResponse(
                permission: .read, allowSocialAcceptance: true, sharingGroupName: Sample.nasty,
                invitingUserName: Sample.nasty))
        try survives(RedeemSharingInvitationResponse(userId: UserID(3), sharingGroupUUID: Sample.group))
        try survives(GetUploadsResponse(uploads: []))
        try survives(
            GetUploadsResponse(uploads: [
                FileInfo(fileUUID: Sample.file, sharingGroupUUID: Sample.group, deleted: true),
                IndexTests.file(at: date),
            ]))
    }

    @Test("UploadFile sorts its parameters by name and encodes the slash of a MIME type [317]")
    func uploadQuery() throws {
        let request = UploadFileRequest(
            fileUUID: FileUUID("11111111-1111-4111-8111-111111111111")!,
            sharingGroupUUID: SharingGroupUUID("22222222-2222-4222-8222-222222222222")!,
            mimeType: MIMEType("text/plain")!, fileVersion: .first, masterVersion: MasterVersion(4),
            checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5")!,
            appMetaData: AppMetaData(version: .first, contents: #"{"a":1}"#))

        // The protocol's example, with encoded colons, as clients send them.
        #expect(
            request.encodedQuery == """
                appMetaData=%7B%22version%22%3A0,%22contents%22%3A%22%7B%5C%22a%5C%22%3A1%7D%22%7D\
                &checkSum=b10a8db164e0754105b7a99be72e3fe5&fileUUID=11111111-1111-4111-8111-111111111111\
                &fileVersion=0&masterVersion=4&mimeType=text%2Fplain\
                &sharingGroupUUID=22222222-2222-4222-8222-222222222222
                """)
        #expect(try UploadFileRequest(query: request.encodedQuery) == request)
    }

    @Test("UploadDeletion sorts its parameters, and true is 1 [318]")
    func deletionQuery() {
        let request = UploadDeletionRequest(
            fileUUID: Sample.file, fileVersion: FileVersion(1), masterVersion: MasterVersion(2),
            sharingGroupUUID: SharingGroupUUID("g")!, actualDeletion: true)
        #expect(
            request.encodedQuery == """
                actualDeletion=1&fileUUID=11111111-1111-4111-8111-11111111111A&fileVersion=1&masterVersion=2\
                &sharingGroupUUID=g
                """)
    }

    @Test("An upload with nested metadata and all options round-trips [325]")
    func nestedMetadata() throws {
        try survives(
            UploadFileRequest(
                fileUUID: Sample.file, sharingGroupUUID: Sample.group, mimeType: MIMEType("image/jpeg")!,
                fileVersion: FileVersion(3), masterVersion: MasterVersion(4), checkSum: CheckSum("ABCDEF")!,
                fileGroupUUID: FileGroupUUID("55555555-5555-4555-8555-555555555555"),
                appMetaData: AppMetaData(version: AppMetaDataVersion(1), contents: Sample.nasty),
                undeleteServerFile: true))
    }

    @Test("Metadata as written by the deployed client are understood")
    func deployedClient() throws {
        let query = """
            appMetaData=%7B%22contents%22%3A%22%7B%5C%22u%5C%22%3A%5C%22http%3A%5C%2F%5C%2Fx%5C%2F%3Fa=1&b=2%5C%22%5Cn%7D\
            %22,%22version%22%3A%223%22%7D&fileUUID=11111111-1111-4111-8111-11111111111A&masterVersion=0\
            &sharingGroupUUID=22222222-2222-4222-8222-22222222222B
            """
        let request = try UploadAppMetaDataRequest(query: query)
        #expect(request.appMetaData?.version == AppMetaDataVersion(3))
        #expect(request.appMetaData?.contents == "{\"u\":\"http://x/?a=1&b=2\"\n}")
        #expect(request.sharingGroupUUID == Sample.group)
    }

    @Test("Integers are decoded to their widths [319]")
    func widths() throws {
        func download(_ file: String, _ master: String) throws -> DownloadFileRequest {
            try DownloadFileRequest(
                query: "fileUUID=\(Sample.file)&fileVersion=\(file)&masterVersion=\(master)&sharingGroupUUID=g")
        }
        let request = try download("2147483647", "9223372036854775807")
        #expect(request.fileVersion.rawValue == Int32.max)
        #expect(request.masterVersion.rawValue == Int64.max)
        #expect(throws: RequestError.malformed(.fileVersion, expected: .integer32)) { try download("2147483648", "0") }
        #expect(throws: RequestError.malformed(.masterVersion, expected: .integer64)) {
            try download("0", "9223372036854775808")
        }
    }

    @Test("A DoneUploads reply carries its count as an integer [323]")
    func doneUploadsReply() throws {
        let reply = DoneUploadsResponse.committed(numberUploadsTransferred: 23)
        #expect(String(decoding: reply.body, as: UTF8.self) == #"{"numberUploadsTransferred":23}"#)
        try survives(reply)
        try survives(DoneUploadsResponse.committed(numberUploadsTransferred: 0))
        try survives(DoneUploadsResponse.stale(current: MasterVersion(6)))
    }

    @Test("False in a DownloadFile reply is written as false [326]")
    func falseInDownloadReply() {
        let reply = DownloadFileResponse.found(
            appMetaData: "ä\n", cloudStorageType: .google, checkSum: CheckSum("0a")!, contentsChanged: false)
        #expect(
            reply.headerText
                == #"{"appMetaData":"\u00e4\n","cloudStorageType":"Google","checkSum":"0a","contentsChanged":false}"#)
    }

    @Test("Replies match the protocol's examples")
    func exactReplies() throws {
        let date = try #require(WireDate("2020-05-01 09:30:00"))
        #expect(
            UploadFileResponse.staged(creationDate: date, updateDate: date).headerText
                == #"{"creationDate":"2020-05-01 09:30:00","updateDate":"2020-05-01 09:30:00"}"#)
        #expect(UploadFileResponse.stale(current: MasterVersion(5)).headerText == #"{"masterVersionUpdate":5}"#)
        #expect(EmptyResponse().headerText == "{}")
        #expect(MasterVersionCheckedResponse.accepted.headerText == "{}")
        #expect(GetUploadsResponse(uploads: []).headerText == #"{"uploads":[]}"#)
        #expect(
            DownloadFileResponse.gone(appMetaData: nil, cloudStorageType: .google, reason: .authTokenExpiredOrRevoked)
                .headerText == #"{"cloudStorageType":"Google","gone":"authTokenExpiredOrRevoked"}"#)
    }
}
