import Store
import SyncProtocol

/// The user on this server that corresponds to a user of the source.
struct UserHere: Equatable, Sendable {
    var userID: UserID
    var accountType: AccountType

    /// The user's own storage.
    var owner: OwningUser? { accountType.cloudStorageType.map { OwningUser(userID: userID, storageType: $0) } }
}

/// Converts a group for the import. It is pure: the same rows give the same group.
struct GroupConversion {
    /// The owner of files whose owner has left; user numbers begin at 1.
    static let nobody = UserID(0)

    let source: SourceGroupContents
    /// By their number at the source.
    let users: [Int64: UserHere]
    private(set) var notes: [ImportNote] = []

    init(_ source: SourceGroupContents, users: [Int64: UserHere]) {
        self.source = source
        self.users = users
    }

    mutating func note(_ table: String, _ row: String, _ outcome: ImportNote.Outcome, _ reason: ImportNote.Reason) {
        notes.append(ImportNote(table, row, outcome, reason))
    }

    /// The group; `nil` if it cannot be imported. SyncServerII omitted files of departed people from its index, so that
    /// other devices kept them forever. Here they are listed as deleted, under a master version that makes every device
    /// check.
    mutating func group() -> ImportedGroup? {
        let uuid = source.group.sharingGroupUUID
        guard let groupUUID = SharingGroupUUID(uuid) else {
            note("SharingGroup", uuid, .skipped, .groupUUIDUnusable)
            return nil
        }
        if source.group.masterVersion == nil { note("MasterVersion", uuid, .adjusted, .masterVersionMissing) }
        let members = members()
        var isDeleted = source.group.deleted
        if !isDeleted && members.isEmpty {
            isDeleted = true
            note("SharingGroup", uuid, .adjusted, .groupWithoutMembers)
        }
        var files = FileConversion(group: uuid, users: users)
        var converted = files.files(source.files)
        notes += files.notes
        if isDeleted { for index in converted.indices { converted[index].isDeleted = true } }
        let version = max(0, source.group.masterVersion ?? 0) + (files.hasVanishedFiles ? 1 : 0)
        return ImportedGroup(
            groupUUID: groupUUID, name: source.group.sharingGroupName, masterVersion: MasterVersion(version),
            isDeleted: isDeleted, members: isDeleted ? [] : members, files: converted)
    }

    private mutating func members() -> [ImportedGroup.Member] {
        var members: [ImportedGroup.Member] = []
        var seen: Set<UserID> = []
        for member in source.members {
            let row = "\(source.group.sharingGroupUUID) \(member.userId)"
            guard let user = users[member.userId] else {
                note("SharingGroupUser", row, .skipped, .memberUnknown)
                continue
            }
            guard let permission = Permission(rawValue: member.permission) else {
                note("SharingGroupUser", row, .skipped, .permissionUnknown)
                continue
            }
            guard seen.insert(user.userID).inserted else {
                note("SharingGroupUser", row, .skipped, .memberListedTwice)
                continue
            }
            var owner: UserID?
            if user.owner == nil, let owning = member.owningUserId {
                owner = users[owning]?.owner?.userID
                if owner == nil { note("SharingGroupUser", row, .adjusted, .owningUserGone) }
            }
            members.append(ImportedGroup.Member(userID: user.userID, owningUserID: owner, permission: permission))
        }
        return members
    }
}

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
        if !MIMETypeTable.standard.accepts(mimeType) { note(row, .adjusted, .mimeTypeUnknown) }
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

/// Converts a group's staged changes and invitations for the import. Staged changes are imported, because a phone that
/// has uploaded to the older server and commits to this one must not lose its files.
struct WorkConversion {
    let group: ImportedGroup
    let source: SourceGroupContents
    let users: [Int64: UserHere]
    let now: WireDate
    private(set) var notes: [ImportNote] = []

    init(of group: ImportedGroup, _ source: SourceGroupContents, users: [Int64: UserHere], at now: WireDate) {
        self.group = group
        self.source = source
        self.users = users
        self.now = now
    }

    mutating func work() -> ImportedWork {
        guard !group.isDeleted else { return ImportedWork() }
        return ImportedWork(
            invitations: source.invitations.compactMap { invitation($0) },
            uploads: source.uploads.compactMap { upload($0) })
    }

    // MARK: Invitations

    private mutating func invitation(_ row: SourceInvitation) -> ImportedWork.Invitation? {
        func skip(_ reason: ImportNote.Reason) -> ImportNote {
            // Anyone who knows the UUID can join, so only its beginning is reported.
            ImportNote("SharingInvitation", "\(row.sharingInvitationUUID.prefix(8))…", .skipped, reason)
        }
        guard let expires = FileConversion.date(row.expiry), expires > now else {
            notes.append(skip(.invitationExpired))
            return nil
        }
        guard let uuid = SharingInvitationUUID(row.sharingInvitationUUID),
            let permission = Permission(rawValue: row.permission), (1...10).contains(row.numberAcceptors)
        else {
            notes.append(skip(.invitationUnusable))
            return nil
        }
        guard let owner = users[row.owningUserId]?.owner, group.members.contains(where: { $0.userID == owner.userID })
        else {
            notes.append(skip(.invitationOwnerGone))
            return nil
        }
        return ImportedWork.Invitation(
            invitation: uuid, owningUserID: owner.userID, permission: permission,
            allowsSocialAcceptance: row.allowSocialAcceptance, acceptors: Int(row.numberAcceptors), expires: expires)
    }

    // MARK: Staged changes

    private mutating func upload(_ row: SourceUpload) -> ImportedWork.Upload? {
        func skip(_ reason: ImportNote.Reason) -> ImportNote {
            ImportNote("Upload", "\(row.uploadId) \(row.fileUUID)", .skipped, reason)
        }
        guard let kind = Self.kind(row.state) else {
            notes.append(skip(.uploadStateUnused))
            return nil
        }
        guard let user = users[row.userId], let member = group.members.first(where: { $0.userID == user.userID }) else {
            notes.append(skip(.uploaderNotAMember))
            return nil
        }
        guard let file = FileUUID(row.fileUUID), let device = DeviceUUID(row.deviceUUID),
            let change = change(row, kind, file, by: user, member)
        else {
            notes.append(skip(.uploadIncomplete))
            return nil
        }
        return ImportedWork.Upload(
            sourceUploadID: row.uploadId, userID: user.userID, deviceUUID: device, change: change)
    }

    /// SyncServerII never completed uploads in the states `uploadingFile` and `uploadingUndelete`.
    static func kind(_ state: String) -> StagedChange.Kind? {
        switch state {
        case "uploadedFile": .upload
        case "uploadedUndelete": .undelete
        case "uploadingAppMetaData": .metadata
        case "toDeleteFromFileIndex": .deletion
        default: nil
        }
    }

    /// The staged change; `nil` if something that its kind needs is missing.
    private func change(
        _ row: SourceUpload, _ kind: StagedChange.Kind, _ file: FileUUID, by user: UserHere,
        _ member: ImportedGroup.Member
    ) -> StagedChange? {
        var change = StagedChange(fileUUID: file, kind: kind)
        let version = row.fileVersion.flatMap(Int32.init(exactly:)).flatMap { $0 >= 0 ? FileVersion($0) : nil }
        let metaDataVersion = row.appMetaDataVersion.flatMap(Int32.init(exactly:)).map(AppMetaDataVersion.init)
        if let contents = row.appMetaData, let metaDataVersion {
            guard contents.utf8.count <= FileConversion.maximumMetaDataBytes else { return nil }
            change.appMetaData = contents
            change.appMetaDataVersion = metaDataVersion
        }
        switch kind {
        case .metadata: return change.appMetaDataVersion == nil ? nil : change
        case .deletion:
            guard let version else { return nil }
            change.fileVersion = version
            return change
        case .upload, .undelete:
            let committed = group.files.first { $0.fileUUID == file }
            guard let version, let mimeType = row.mimeType.flatMap({ MIMEType($0) }),
                let updated = FileConversion.date(row.updateDate) ?? FileConversion.date(row.creationDate),
                let owner = owner(committed, user, member),
                let checkSum = row.lastUploadedCheckSum.flatMap({ CheckSum($0) })?
                    .canonical(as: owner.storageType.checkSumFlavour)
            else { return nil }
            change.fileVersion = version
            change.mimeType = mimeType
            change.createdAt = committed == nil ? FileConversion.date(row.creationDate) ?? updated : nil
            change.updatedAt = updated
            change.fileGroupUUID = committed == nil ? row.fileGroupUUID.flatMap { FileGroupUUID($0) } : nil
            change.content = StoredContent(
                owningUser: owner, checkSum: checkSum, sha256: nil, sizeBytes: nil, objectID: nil, objectRevision: nil,
                providerHash: nil)
            return change
        }
    }

    /// The user whose storage contains the upload: the file's owner, or the future owner of a new file.
    private func owner(
        _ committed: ImportedGroup.File?, _ user: UserHere, _ member: ImportedGroup.Member
    ) -> OwningUser? {
        if let committed {
            guard committed.owningUserID != GroupConversion.nobody else { return nil }
            return OwningUser(userID: committed.owningUserID, storageType: committed.storageType)
        }
        if let owner = user.owner { return owner }
        guard let owningUserID = member.owningUserID else { return nil }
        return users.values.first { $0.userID == owningUserID }?.owner
    }
}
