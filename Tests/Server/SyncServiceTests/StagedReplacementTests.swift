import SyncProtocol
import Testing

@testable import Store
@testable import SyncService

@Suite("Replacement of staged changes to a file")
struct StagedReplacementTests {
    private static let file = someFile()
    private static let owner = OwningUser(userID: UserID(1), storageType: .google)

    /// The committed file at version 4, with metadata of that version or none.
    private static func committed(metaData: Int32? = nil, isDeleted: Bool = false) -> FileRecord {
        FileRecord(
            fileUUID: file, owningUser: owner, deviceUUID: DeviceUUID(someFile().rawValue)!, createdAt: noon,
            updatedAt: noon, mimeType: MIMEType("text/plain")!, appMetaData: metaData.map { _ in "committed" },
            appMetaDataVersion: metaData.map { AppMetaDataVersion($0) }, isDeleted: isDeleted,
            fileVersion: FileVersion(4), checkSum: nil, sizeBytes: nil, objectID: "committed", providerHash: nil)
    }

    private static func upload(
        _ object: String, version: Int32 = 5, kind: StagedChange.Kind = .upload, metaData: (Int32, String)? = nil
    ) -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: kind)
        change.updatedAt = noon
        change.mimeType = MIMEType("text/plain")
        change.fileVersion = FileVersion(version)
        change.content = StoredContent(
            owningUser: owner, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5")!, sha256: nil, sizeBytes: 1,
            objectID: object, objectRevision: nil, providerHash: nil)
        change.appMetaDataVersion = metaData.map { AppMetaDataVersion($0.0) }
        change.appMetaData = metaData?.1
        return change
    }

    private static func metaData(_ version: Int32, _ contents: String) -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: .metadata)
        change.appMetaDataVersion = AppMetaDataVersion(version)
        change.appMetaData = contents
        return change
    }

    private static func deletion(_ version: Int32 = 4) -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: .deletion)
        change.fileVersion = FileVersion(version)
        return change
    }

    /// One row of the table: the staged change, the new one, the change staged afterwards, and the object to delete.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var staged: StagedChange?
        var requested: StagedChange
        var result: StagedChange
        var givenUp: String?
        var isRepetition = false
        var current: FileRecord = committed()
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "nothing, upload", staged: nil, requested: upload("new"), result: upload("new")),
        Row(name: "nothing, metadata", staged: nil, requested: metaData(0, "m"), result: metaData(0, "m")),
        Row(name: "nothing, deletion", staged: nil, requested: deletion(), result: deletion()),

        Row(
            name: "upload, other upload", staged: upload("old"), requested: upload("new"), result: upload("new"),
            givenUp: "old"),
        Row(
            name: "upload with metadata, other upload without", staged: upload("old", metaData: (0, "kept")),
            requested: upload("new"), result: upload("new", metaData: (0, "kept")), givenUp: "old"),
        Row(
            name: "upload with metadata, other upload with other metadata", staged: upload("old", metaData: (0, "m")),
            requested: upload("new", metaData: (0, "n")), result: upload("new", metaData: (0, "n")), givenUp: "old"),
        Row(
            name: "upload with metadata that another device made obsolete, upload",
            staged: upload("old", metaData: (0, "late")), requested: upload("new"), result: upload("new"),
            givenUp: "old", current: committed(metaData: 0)),
        Row(
            name: "lost upload, next version", staged: upload("lost", version: 4), requested: upload("new"),
            result: upload("new"), givenUp: "lost"),
        Row(
            name: "undelete, other undelete", staged: upload("old", kind: .undelete),
            requested: upload("new", kind: .undelete), result: upload("new", kind: .undelete), givenUp: "old",
            current: committed(isDeleted: true)),
        Row(
            name: "upload of a file deleted since, undelete", staged: upload("old"),
            requested: upload("new", kind: .undelete), result: upload("new", kind: .undelete), givenUp: "old",
            current: committed(isDeleted: true)),
        Row(
            name: "metadata, upload without", staged: metaData(0, "kept"), requested: upload("new"),
            result: upload("new", metaData: (0, "kept"))),
        Row(
            name: "metadata, upload with its own", staged: metaData(0, "m"),
            requested: upload("new", metaData: (0, "n")), result: upload("new", metaData: (0, "n"))),
        Row(
            name: "obsolete metadata, upload", staged: metaData(0, "late"), requested: upload("new"),
            result: upload("new"), current: committed(metaData: 0)),
        Row(name: "deletion, upload", staged: deletion(), requested: upload("new"), result: upload("new")),
        Row(
            name: "deletion, undelete", staged: deletion(), requested: upload("new", kind: .undelete),
            result: upload("new", kind: .undelete), current: committed(isDeleted: true)),

        Row(
            name: "upload, metadata", staged: upload("kept"), requested: metaData(0, "m"),
            result: upload("kept", metaData: (0, "m"))),
        Row(
            name: "upload with metadata, other metadata", staged: upload("kept", metaData: (0, "m")),
            requested: metaData(0, "n"), result: upload("kept", metaData: (0, "n"))),
        Row(
            name: "upload with metadata, the same metadata", staged: upload("kept", metaData: (0, "m")),
            requested: metaData(0, "m"), result: upload("kept", metaData: (0, "m")), isRepetition: true),
        Row(
            name: "lost upload, metadata", staged: upload("lost", version: 4), requested: metaData(0, "m"),
            result: metaData(0, "m"), givenUp: "lost"),
        Row(
            name: "metadata, other metadata", staged: metaData(0, "m"), requested: metaData(0, "n"),
            result: metaData(0, "n")),
        Row(
            name: "metadata, the same metadata", staged: metaData(0, "m"), requested: metaData(0, "m"),
            result: metaData(0, "m"), isRepetition: true),
        Row(
            name: "obsolete metadata, the next", staged: metaData(0, "m"), requested: metaData(1, "m"),
            result: metaData(1, "m"), current: committed(metaData: 0)),
        Row(
            name: "empty metadata are not the same as other ones", staged: metaData(0, ""), requested: metaData(0, "m"),
            result: metaData(0, "m")),
        Row(name: "deletion, metadata", staged: deletion(), requested: metaData(0, "m"), result: metaData(0, "m")),

        Row(
            name: "upload, deletion", staged: upload("old", metaData: (0, "m")), requested: deletion(),
            result: deletion(), givenUp: "old"),
        Row(
            name: "undelete, deletion", staged: upload("old", kind: .undelete), requested: deletion(),
            result: deletion(), givenUp: "old", current: committed(isDeleted: true)),
        Row(name: "metadata, deletion", staged: metaData(0, "m"), requested: deletion(), result: deletion()),
        Row(
            name: "deletion, the same deletion", staged: deletion(), requested: deletion(), result: deletion(),
            isRepetition: true),
        Row(
            name: "deletion of an older version, deletion", staged: deletion(3), requested: deletion(),
            result: deletion()),
    ]

    @Test("Each pair follows its rule", arguments: rows)
    func rule(row: Row) {
        let decided = StagedReplacement.of(row.requested, over: row.staged, current: row.current)

        #expect(decided.change == row.result)
        #expect(decided.givenUp?.content?.objectID == row.givenUp)
        #expect(decided.isRepetition == row.isRepetition)
    }

    @Test("The table contains every pair of kinds")
    func completeness() {
        let kinds: [StagedChange.Kind] = [.upload, .undelete, .metadata, .deletion]
        let covered = Set(Self.rows.compactMap { row in row.staged.map { "\($0.kind) \(row.requested.kind)" } })
        for staged in kinds {
            for requested in kinds {
                // An undelete requires a deleted file, which accepts neither uploads nor metadata; those are rejected
                // before.
                let isImpossible =
                    staged == .undelete && [.upload, .metadata].contains(requested)
                    || staged == .metadata && requested == .undelete
                #expect(covered.contains("\(staged) \(requested)") != isImpossible, "\(staged) \(requested)")
            }
        }
    }
}
