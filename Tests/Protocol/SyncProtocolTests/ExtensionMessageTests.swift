import Foundation
import SyncProtocol
import Testing

@Suite("Messages unknown to deployed clients")
struct ExtensionMessageTests {
    private let batch = UploadBatch(
        batchUUID: BatchUUID("66666666-6666-4666-8666-66666666666a")!, batchCount: 3,
        pushNotificationMessage: Sample.nasty)

    private func survives<Message: RequestMessage>(_ message: Message) throws {
        #expect(try Message(query: message.encodedQuery) == message, "\(Message.endpoint.rawValue)")
        #expect(try Message(query: message.encodedQuery(.unambiguous)) == message, "\(Message.endpoint.rawValue)")
    }

    private func survives<Message: ResponseMessage>(_ message: Message) throws {
        #expect(try JSONDecoder().decode(Message.self, from: Data(message.body)) == message)
        #expect(try JSONDecoder().decode(Message.self, from: Data(message.headerText.utf8)) == message)
    }

    /// `&` and `+` are encoded as well, as required of parameters that are new to this protocol.
    private func fullyEncoded(_ text: String) -> String {
        text.utf8.map { "%" + [$0].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }.joined()
    }

    @Test("Requests round-trip")
    func requests() throws {
        try survives(
            DoneUploadsRequest(
                masterVersion: MasterVersion(5), sharingGroupUUID: Sample.group,
                pushNotificationMessage: Sample.nasty,
                commitID: CommitID("77777777-7777-4777-8777-77777777777b")))
        try survives(IndexRequest(sharingGroupUUID: Sample.group, since: MasterVersion(0)))
        try survives(DiscardUploadsRequest(sharingGroupUUID: Sample.group))
        try survives(
            DiscardUploadsRequest(
                sharingGroupUUID: Sample.group,
                fileUUIDs: [Sample.file, FileUUID("11111111-1111-4111-8111-111111111112")!],
                batchUUID: batch.batchUUID))
        try survives(GetSharingInvitationsRequest(sharingGroupUUID: Sample.group))
        try survives(
            RevokeSharingInvitationRequest(
                sharingGroupUUID: Sample.group, sharingInvitationUUID: Sample.invitation))
        try survives(GetSharingGroupMembersRequest(sharingGroupUUID: Sample.group))
        try survives(
            RemoveSharingGroupMemberRequest(
                sharingGroupUUID: Sample.group, masterVersion: MasterVersion(1), userID: UserID(.max)))
        for permission in Permission.allCases {
            try survives(
                UpdateSharingGroupMemberRequest(
                    sharingGroupUUID: Sample.group, masterVersion: MasterVersion(1), userID: UserID(1),
                    permission: permission))
        }
        let plain = UploadBatch(batchUUID: batch.batchUUID, batchCount: 1_000)
        try survives(
            UploadDeletionRequest(
                fileUUID: Sample.file, fileVersion: FileVersion(2), masterVersion: MasterVersion(5),
                sharingGroupUUID: Sample.group, batch: plain))
        try survives(
            UploadAppMetaDataRequest(
                fileUUID: Sample.file, appMetaData: nil, masterVersion: MasterVersion(5),
                sharingGroupUUID: Sample.group, batch: plain))
        try survives(
            UploadFileRequest(
                fileUUID: Sample.file, sharingGroupUUID: Sample.group, mimeType: MIMEType("image/jpeg")!,
                fileVersion: FileVersion(3), masterVersion: MasterVersion(4), checkSum: CheckSum("ABCDEF")!,
                appMetaData: AppMetaData(version: .first, contents: Sample.nasty), batch: plain))
    }

    @Test("A batch's message is decoded alongside any metadata, since its & is encoded")
    func batchMessage() throws {
        let request = try UploadFileRequest(
            query: """
                appMetaData=%7B%22contents%22%3A%22a&batchCount=7%22,%22version%22%3A0%7D&batchCount=3\
                &batchUUID=\(batch.batchUUID)&checkSum=ab&fileUUID=\(Sample.file)&fileVersion=0&masterVersion=0\
                &mimeType=text%2Fplain&pushNotificationMessage=\(fullyEncoded(Sample.nasty))\
                &sharingGroupUUID=\(Sample.group)
                """)
        #expect(request.appMetaData?.contents == "a&batchCount=7")
        #expect(request.batch == batch)
    }

    @Test("Any message of a batch round-trips in the unambiguous form")
    func unambiguousBatchMessage() throws {
        let request = UploadDeletionRequest(
            fileUUID: Sample.file, fileVersion: FileVersion(2), masterVersion: MasterVersion(5),
            sharingGroupUUID: Sample.group, batch: batch)
        #expect(try UploadDeletionRequest(query: request.encodedQuery(.unambiguous)) == request)
    }

    @Test("Replies round-trip")
    func replies() throws {
        let date = try #require(WireDate("2020-05-01 09:30:00"))
        try survives(
            UploadFileResponse.committed(creationDate: date, updateDate: date, masterVersion: MasterVersion(9)))
        try survives(StagingResponse.staged)
        try survives(StagingResponse.committed(masterVersion: MasterVersion(9)))
        try survives(StagingResponse.stale(current: MasterVersion(9)))
        try survives(DiscardUploadsResponse(numberUploadsDiscarded: 0))
        try survives(GetSharingInvitationsResponse(sharingInvitations: []))
        try survives(
            GetSharingInvitationsResponse(sharingInvitations: [
                .init(
                    sharingInvitationUUID: Sample.invitation, permission: .write, allowSocialAcceptance: true,
                    numberOfAcceptors: 3, expirationDate: date, invitingUserId: UserID(4))
            ]))
        try survives(
            GetSharingGroupMembersResponse(
                masterVersion: MasterVersion(3),
                sharingGroupMembers: [
                    .init(userId: UserID(1), name: Sample.nasty, permission: .admin, owningUserId: UserID(1)),
                    .init(userId: UserID(2), name: "", permission: .read, owningUserId: nil),
                ]))
        try survives(
            IndexResponse(
                files: .init(masterVersion: MasterVersion(5), since: MasterVersion(3), fileIndex: []),
                sharingGroups: []))
        var staged = FileInfo(fileUUID: Sample.file, sharingGroupUUID: Sample.group, deleted: false)
        staged.batchUUID = batch.batchUUID
        try survives(GetUploadsResponse(uploads: [staged]))
    }

    @Test(
        "Invalid requests are rejected",
        arguments: [
            ("batchUUID=66666666-6666-4666-8666-66666666666a", RequestError.missing(.batchCount)),
            ("batchCount=2", .missing(.batchUUID)),
            ("pushNotificationMessage=Hi", .missing(.batchUUID)),
            (
                "batchCount=0&batchUUID=66666666-6666-4666-8666-66666666666a",
                .outOfRange(.batchCount, allowed: 1...1_000)
            ),
            (
                "batchCount=1001&batchUUID=66666666-6666-4666-8666-66666666666a",
                .outOfRange(.batchCount, allowed: 1...1_000)
            ),
            ("batchCount=2&batchUUID=x", .malformed(.batchUUID, expected: .uuid)),
        ])
    func wrongBatch(query: String, error: RequestError) {
        #expect(throws: error) {
            _ = try UploadDeletionRequest(
                query: "fileUUID=\(Sample.file)&fileVersion=0&masterVersion=0&sharingGroupUUID=g&\(query)")
        }
    }

    @Test("since requires a group, and lists of files contain only UUIDs")
    func wrongLists() {
        #expect(throws: RequestError.missing(.sharingGroupUUID)) { _ = try IndexRequest(query: "since=3") }
        for list in ["", "x", "\(Sample.file),", "\(Sample.file),,\(Sample.file)"] {
            #expect(throws: RequestError.malformed(.fileUUIDs, expected: .uuids)) {
                _ = try DiscardUploadsRequest(query: "fileUUIDs=\(list)&sharingGroupUUID=\(Sample.group)")
            }
        }
        let many = [String](repeating: Sample.file.rawValue, count: 1_001).joined(separator: ",")
        #expect(throws: RequestError.outOfRange(.fileUUIDs, allowed: 1...1_000)) {
            _ = try DiscardUploadsRequest(query: "fileUUIDs=\(many)&sharingGroupUUID=\(Sample.group)")
        }
    }
}
