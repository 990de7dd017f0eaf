import Store
import SyncProtocol

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
