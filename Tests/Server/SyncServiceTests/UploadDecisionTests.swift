import SyncProtocol
import Testing

@testable import Store
@testable import SyncService

@Suite("Decisions about an UploadFile request")
struct UploadDecisionTests {
    private let file = someFile()
    private let me = OwningUser(userID: UserID(1), storageType: .google)
    private let other = OwningUser(userID: UserID(2), storageType: .dropbox)
    private let sum = "b10a8db164e0754105b7a99be72e3fe5"
    private let earlier = WireDate(secondsSince1970: 1_700_000_000)

    private func membership(owner: OwningUser?) -> Membership {
        Membership(
            groupID: SharingGroupID(1), groupUUID: SharingGroupUUID("g")!, groupName: nil,
            masterVersion: MasterVersion(0), permission: .write, owningUser: owner, invitation: nil)
    }

    private func request(
        version: Int32, checkSum: String? = nil, mimeType: String = "text/plain", metaData: (Int32, String)? = nil,
        undelete: Bool = false, group: String? = nil
    ) -> UploadFileRequest {
        UploadFileRequest(
            fileUUID: file, sharingGroupUUID: SharingGroupUUID("g")!, mimeType: MIMEType(mimeType)!,
            fileVersion: FileVersion(version), masterVersion: MasterVersion(0), checkSum: CheckSum(checkSum ?? sum)!,
            fileGroupUUID: group.flatMap { FileGroupUUID($0) },
            appMetaData: metaData.map { AppMetaData(version: AppMetaDataVersion($0.0), contents: $0.1) },
            undeleteServerFile: undelete)
    }

    /// The committed file at version 4.
    private func committed(
        isDeleted: Bool = false, metaDataVersion: Int32? = nil, owner: OwningUser? = nil
    ) -> FileRecord {
        var record = FileRecord(
            fileUUID: file, owningUser: owner ?? me, deviceUUID: DeviceUUID(someFile().rawValue)!, createdAt: earlier,
            updatedAt: earlier,
            mimeType: MIMEType("text/plain")!, appMetaData: nil, appMetaDataVersion: nil, isDeleted: isDeleted,
            fileVersion: FileVersion(4), checkSum: nil, sizeBytes: nil, objectID: "o", providerHash: nil)
        record.appMetaDataVersion = metaDataVersion.map { AppMetaDataVersion($0) }
        return record
    }

    private func staged(
        version: Int32, kind: StagedChange.Kind = .upload, checkSum: String? = nil, metaData: (Int32, String)? = nil,
        owner: OwningUser? = nil, mimeType: String = "text/plain", group: String? = nil
    ) -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: kind)
        change.fileVersion = FileVersion(version)
        change.createdAt = version == 0 ? noon : nil
        change.updatedAt = noon
        change.mimeType = MIMEType(mimeType)
        change.fileGroupUUID = group.flatMap { FileGroupUUID($0) }
        change.appMetaDataVersion = metaData.map { AppMetaDataVersion($0.0) }
        change.appMetaData = metaData?.1
        change.content = StoredContent(
            owningUser: owner ?? me, checkSum: CheckSum(checkSum ?? sum)!, sha256: nil, sizeBytes: 1, objectID: "o",
            objectRevision: nil, providerHash: nil)
        return change
    }

    private func decide(
        _ request: UploadFileRequest, current: FileRecord? = nil, staged: StagedChange? = nil, owner: OwningUser? = nil,
        isLiveElsewhere: Bool = false
    ) throws -> UploadDecision {
        try UploadDecision.of(
            request, by: membership(owner: owner ?? me), current: current, staged: staged,
            isLiveElsewhere: isLiveElsewhere)
    }

    private func plan(
        _ kind: StagedChange.Kind = .upload, owner: OwningUser? = nil, checkSum: String? = nil, created: WireDate? = nil
    ) -> UploadDecision {
        .upload(
            UploadPlan(
                kind: kind, owner: owner ?? me, checkSum: CheckSum(checkSum ?? sum)!, existingCreationDate: created))
    }

    // MARK: Accepted requests

    @Test("A new file goes to the member's effective owner, as version 0")
    func newFile() throws {
        #expect(try decide(request(version: 0)) == plan())
        #expect(try decide(request(version: 0, metaData: (0, "x"), group: "fg")) == plan())
    }

    @Test("The next version goes to the file's owner, regardless of the uploader, and keeps the creation date")
    func nextVersion() throws {
        let sum = String(repeating: "a", count: 64)

        #expect(
            try decide(request(version: 5, checkSum: sum), current: committed(owner: other))
                == plan(owner: other, checkSum: sum, created: earlier))
    }

    @Test("An undelete restores a deleted file; for a live one it is an upload")
    func undelete() throws {
        #expect(
            try decide(request(version: 5, undelete: true), current: committed(isDeleted: true))
                == plan(.undelete, created: earlier))
        #expect(try decide(request(version: 5, undelete: true), current: committed()) == plan(created: earlier))
    }

    @Test("A checksum is accepted in any letter case and stored in its storage's letter case")
    func checkSumCase() throws {
        #expect(try decide(request(version: 0, checkSum: sum.uppercased())) == plan())
        let oneDrive = OwningUser(userID: UserID(3), storageType: .microsoft)
        let sha1 = "0a4d55a8d778e5022fab701977c5d840bbc486d0"
        guard case .upload(let decided) = try decide(request(version: 0, checkSum: sha1), owner: oneDrive) else {
            Issue.record("no upload")
            return
        }
        #expect(decided.checkSum.rawValue == sha1.uppercased())
    }

    // MARK: Rejected requests

    @Test("Each mismatch with the group's state is rejected with its own code")
    func refusals() throws {
        let cases: [(ErrorCode, UploadFileRequest, FileRecord?)] = [
            (.fileVersionMismatch, request(version: 1), nil),
            (.fileVersionMismatch, request(version: 4), committed()),
            (.fileVersionMismatch, request(version: 6), committed()),
            (.fileVersionMismatch, request(version: 0), committed()),
            (.fileNotDeleted, request(version: 0, undelete: true), nil),
            (.fileDeleted, request(version: 5), committed(isDeleted: true)),
            (.fileVersionMismatch, request(version: 4, undelete: true), committed(isDeleted: true)),
            (.mimeTypeChanged, request(version: 5, mimeType: "image/jpeg"), committed()),
            (.appMetaDataVersionMismatch, request(version: 0, metaData: (1, "x")), nil),
            (.appMetaDataVersionMismatch, request(version: 5, metaData: (1, "x")), committed()),
            (.appMetaDataVersionMismatch, request(version: 5, metaData: (3, "x")), committed(metaDataVersion: 3)),
            (.appMetaDataVersionMismatch, request(version: 5, metaData: (5, "x")), committed(metaDataVersion: 3)),
            (.checksumMismatch, request(version: 0, checkSum: "abcd"), nil),
            (.checksumMismatch, request(version: 5), committed(owner: other)),
        ]
        for (code, request, current) in cases {
            #expect(throws: Refusal(code), "\(request)") { try decide(request, current: current) }
        }
    }

    @Test("The maximum 32-bit version has no successor")
    func endOfVersions() throws {
        var current = committed()
        current.fileVersion = FileVersion(.max)
        #expect(throws: Refusal(.fileVersionMismatch)) { try decide(request(version: .max), current: current) }
        current = committed(metaDataVersion: .max)
        #expect(throws: Refusal(.appMetaDataVersionMismatch)) {
            try decide(request(version: 5, metaData: (.max, "x")), current: current)
        }
    }

    @Test("A new file that is live in another group, or would have no owner, is rejected")
    func newFileRefusals() throws {
        #expect(throws: Refusal(.fileInOtherGroup)) { try decide(request(version: 0), isLiveElsewhere: true) }
        #expect(throws: Refusal(.ownerRemoved)) {
            try UploadDecision.of(
                request(version: 0), by: membership(owner: nil), current: nil, staged: nil, isLiveElsewhere: false)
        }
        // Later versions need no effective owner.
        _ = try UploadDecision.of(
            request(version: 5), by: membership(owner: nil), current: committed(), staged: nil, isLiveElsewhere: false)
    }

    // MARK: Earlier staged changes

    @Test("The same upload again is a repetition, with the dates of the first")
    func repetition() throws {
        #expect(
            try decide(request(version: 0), staged: staged(version: 0))
                == .repeated(creationDate: noon, updateDate: noon))
        #expect(
            try decide(request(version: 5), current: committed(), staged: staged(version: 5))
                == .repeated(creationDate: earlier, updateDate: noon))
        #expect(
            try decide(
                request(version: 0, checkSum: sum.uppercased(), metaData: (0, "x"), group: "FG"),
                staged: staged(version: 0, metaData: (0, "x"), group: "fg"))
                == .repeated(creationDate: noon, updateDate: noon))
        #expect(
            try decide(
                request(version: 5, undelete: true), current: committed(isDeleted: true),
                staged: staged(version: 5, kind: .undelete))
                == .repeated(creationDate: earlier, updateDate: noon))
        // Metadata staged before belong to the same commit.
        #expect(
            try decide(request(version: 0), staged: staged(version: 0, metaData: (0, "x")))
                == .repeated(creationDate: noon, updateDate: noon))
    }

    @Test("Any other staged change is replaced")
    func replacement() throws {
        let otherSum = "a0a8db164e0754105b7a99be72e3fe51"
        let ofNew: [(UploadFileRequest, StagedChange)] = [
            (request(version: 0), staged(version: 0, checkSum: otherSum)),
            (request(version: 0, metaData: (0, "y")), staged(version: 0, metaData: (0, "x"))),
            (request(version: 0, metaData: (0, "y")), staged(version: 0)),
            (request(version: 0), staged(version: 0, owner: other)),
            (request(version: 0), staged(version: 0, mimeType: "image/jpeg")),
            (request(version: 0, group: "a"), staged(version: 0, group: "b")),
        ]
        for (request, staged) in ofNew {
            #expect(try decide(request, staged: staged) == plan(), "\(request)")
        }
        let ofExisting = [
            staged(version: 4), staged(version: 5, checkSum: otherSum), StagedChange(fileUUID: file, kind: .deletion),
            StagedChange(fileUUID: file, kind: .metadata),
        ]
        for staged in ofExisting {
            #expect(try decide(request(version: 5), current: committed(), staged: staged) == plan(created: earlier))
        }
    }

    @Test("A staged upload that can no longer be committed is not a repetition, but replaced")
    func outdatedStaging() throws {
        // Another device has deleted the file since.
        #expect(
            try decide(
                request(version: 5, undelete: true), current: committed(isDeleted: true), staged: staged(version: 5))
                == plan(.undelete, created: earlier))
        // Another device has committed the metadata version that was staged here.
        #expect(
            try decide(
                request(version: 5, metaData: (1, "x")), current: committed(metaDataVersion: 0),
                staged: staged(version: 5, metaData: (0, "x"))) == plan(created: earlier))
        #expect(
            try decide(
                request(version: 5), current: committed(metaDataVersion: 0),
                staged: staged(version: 5, metaData: (0, "x"))) == plan(created: earlier))
    }
}
