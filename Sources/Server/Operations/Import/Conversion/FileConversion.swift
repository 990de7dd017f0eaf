import Store
import SyncProtocol

/// Converts a group's files for the import.
struct FileConversion {
    /// The length of the column.
    static let maximumMetaDataBytes = 65_535
    /// Replaces invalid dates.
    private static let noDate = WireDate(secondsSince1970: 0)

    let group: String
    let users: [Int64: UserHere]
    private(set) var notes: [ImportNote] = []
    /// Whether a file that the older server's index omitted is now listed as deleted.
    private(set) var hasVanishedFiles = false

    init(group: String, users: [Int64: UserHere]) {
        self.group = group
        self.users = users
    }

    private mutating func note(_ row: SourceFile, _ outcome: ImportNote.Outcome, _ reason: ImportNote.Reason) {
        notes.append(ImportNote("FileIndex", "\(row.fileIndexId) \(row.fileUUID)", outcome, reason))
    }

    /// The files in the order of their UUIDs. If the UUIDs of two rows differ only in letter case, the live row wins,
    /// then the one with the higher version, then the newer one.
    mutating func files(_ rows: [SourceFile]) -> [ImportedGroup.File] {
        var best: [FileUUID: SourceFile] = [:]
        for row in rows {
            guard let uuid = FileUUID(row.fileUUID) else {
                note(row, .skipped, .fileUUIDUnusable)
                continue
            }
            guard let other = best[uuid] else {
                best[uuid] = row
                continue
            }
            let rank = { (row: SourceFile) in (row.deleted ? 0 : 1, row.fileVersion, row.fileIndexId) }
            let loser = rank(row) > rank(other) ? other : row
            best[uuid] = rank(row) > rank(other) ? row : other
            note(loser, .skipped, .fileListedTwice)
        }
        return best.sorted { $0.key < $1.key }.compactMap { entry in
            // Not the key, which has the letter case of the first row.
            FileUUID(entry.value.fileUUID).flatMap { file(entry.value, $0) }
        }
    }

    private mutating func file(_ row: SourceFile, _ uuid: FileUUID) -> ImportedGroup.File? {
        guard let device = DeviceUUID(row.deviceUUID) else {
            note(row, .skipped, .deviceUUIDUnusable)
            return nil
        }
        guard (0...Int64(Int32.max)).contains(row.fileVersion) else {
            note(row, .skipped, .fileVersionUnusable)
            return nil
        }
        guard let mimeType = MIMEType(row.mimeType), row.mimeType.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            note(row, .skipped, .mimeTypeUnusable)
            return nil
        }
        if MIMETypeTable.standard.fileExtension(for: mimeType) == nil { note(row, .adjusted, .mimeTypeUnknown) }
        var isDeleted = row.deleted
        let owner = users[row.userId]?.owner
        if owner == nil {
            note(row, .adjusted, .ownerGone)
            hasVanishedFiles = true
            isDeleted = true
        }
        let storageType = owner?.storageType ?? Self.storageType(ofCheckSum: row.lastUploadedCheckSum)
        let dates = dates(row)
        let metaData = metaData(row)
        var fileGroup: FileGroupUUID?
        if let text = row.fileGroupUUID {
            fileGroup = FileGroupUUID(text)
            if fileGroup == nil { note(row, .adjusted, .fileGroupUUIDUnusable) }
        }
        return ImportedGroup.File(
            fileUUID: uuid, fileGroupUUID: fileGroup, owningUserID: owner?.userID ?? GroupConversion.nobody,
            storageType: storageType, deviceUUID: device, createdAt: dates.created, updatedAt: dates.updated,
            mimeType: mimeType, appMetaData: metaData?.contents, appMetaDataVersion: metaData?.version,
            isDeleted: isDeleted, fileVersion: FileVersion(Int32(row.fileVersion)),
            checkSum: checkSum(row, storageType))
    }

    /// The kind of storage, derived from the checksum if nothing else indicates it; Google's if the checksum does not
    /// indicate it either.
    static func storageType(ofCheckSum text: String?) -> CloudStorageType {
        CloudStorageType.allCases.first { $0.checkSumFlavour.digitCount == text?.utf8.count } ?? .google
    }

    private mutating func checkSum(_ row: SourceFile, _ storageType: CloudStorageType) -> CheckSum? {
        guard let text = row.lastUploadedCheckSum else { return nil }
        guard let checkSum = CheckSum(text)?.canonical(as: storageType.checkSumFlavour) else {
            note(row, .adjusted, .checkSumUnusable)
            return nil
        }
        return checkSum
    }

    /// Clients need two valid dates: the other date replaces one that is missing or zero.
    private mutating func dates(_ row: SourceFile) -> (created: WireDate, updated: WireDate) {
        let created = Self.date(row.creationDate)
        let updated = Self.date(row.updateDate)
        if created == nil || updated == nil { note(row, .adjusted, .dateUnusable) }
        return (created ?? updated ?? Self.noDate, updated ?? created ?? Self.noDate)
    }

    /// A date from the database; a fraction of a second is dropped.
    static func date(_ text: String?) -> WireDate? {
        guard let text else { return nil }
        return WireDate(String(text.prefix(19)))
    }

    private mutating func metaData(_ row: SourceFile) -> (contents: String, version: AppMetaDataVersion)? {
        if row.appMetaData == nil && row.appMetaDataVersion == nil { return nil }
        guard (row.appMetaData?.utf8.count ?? 0) <= Self.maximumMetaDataBytes else {
            note(row, .adjusted, .appMetaDataTooLong)
            return nil
        }
        if row.appMetaData == nil { note(row, .adjusted, .appMetaDataMissing) }
        var version = row.appMetaDataVersion.flatMap(Int32.init(exactly:))
        if version == nil || version! < 0 {
            note(row, .adjusted, .appMetaDataVersionMissing)
            version = 0
        }
        return (row.appMetaData ?? "", AppMetaDataVersion(version ?? 0))
    }
}
