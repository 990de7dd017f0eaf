internal import SyncEngine
internal import SyncProtocol

/// An in-memory server that follows the protocol as far as clients can observe.
final class ModelServer {
    /// A reply, with the bytes of a download.
    struct Answer {
        let reply: ServerReply
        var contents: String?
        /// Whether it is a refusal that a client may receive even if it knows all versions.
        var isExpected = false

        init(_ reply: ServerReply, contents: String? = nil) {
            self.reply = reply
            self.contents = contents
        }

        static func refused(_ code: ErrorCode) -> Answer {
            Answer(.failed(.refused(status: code.status, code: code.rawValue)))
        }
    }

    /// How long staged changes are kept and commits are remembered, in seconds.
    static let stagingLifetimeSeconds: Int64 = 7 * 86_400

    let capabilities: ServerCapabilities
    /// What a request with many small files may contain; nil for a server that does not accept such requests.
    var smallFileLimits: SmallFileLimits?
    var groups: [SharingGroupUUID: ModelGroup] = [:]
    var users: Set<UserID> = []
    /// The identities of users who may switch accounts.
    var identities: [UserID: ModelIdentity] = [:]
    /// Users who revoked the server's access to their storage.
    var revokedUsers: Set<UserID> = []
    /// Files whose contents their owners removed from the cloud.
    var missingFiles: Set<FileUUID> = []
    /// Users whose storage cannot be reached.
    var unreachableUsers: Set<UserID> = []
    /// The size in bytes of the largest file for which a user's storage has room; without a value it has enough.
    var room: [UserID: Int64] = [:]
    /// The members whose storage holds the new files of users without their own.
    var hosts: [UserID: UserID] = [:]
    /// The code with which the server, or a storage, refuses the contents of an upload by a user; nil accepts them.
    var refusalOfContents: (@Sendable (FileUpload, _ contents: String, UserID) -> ErrorCode?)?
    /// The number of times that it was restored from a backup.
    private var restorations = 0

    init(capabilities: ServerCapabilities) {
        self.capabilities = capabilities
    }

    /// Performs a request.
    /// - Parameters:
    ///   - contents: The bytes of an upload.
    ///   - signIn: The account, for a user who may switch accounts.
    func perform(
        _ request: ServerRequest, from caller: ModelCaller, with signIn: ModelSignIn? = nil, contents: String?,
        at now: WireDate
    ) -> Answer {
        guard users.contains(caller.user) else { return Answer(.failed(.signInRequired)) }
        if let refusal = refusal(of: signIn, caller.user) { return refusal }
        switch request {
        case .index(let parameters): return index(parameters, caller)
        case .createSharingGroup(let group, let name): return create(group, name, caller)
        case .uploadFile(var upload):
            let batch = upload.batch.map { ModelBatch($0, upload.masterVersion, upload.request(contents ?? "")) }
            upload.batch = nil
            return staging(upload.fileUUID, in: upload.sharingGroupUUID, upload.masterVersion, batch, caller, now) {
                stage(upload, contents ?? "", caller, now, &$0)
            }
        case .uploadSmallFiles(let uploads): return stage(uploads, contents ?? "", caller, now)
        case .askForSmallFiles: return Answer(.smallFiles(smallFileLimits))
        case .uploadAppMetaData(let file, let text, let version, let group, let batch):
            let batch = batch.map { ModelBatch($0, version, "text \(text)") }
            return staging(file, in: group, version, batch, caller, now) { stage(text, of: file, caller, now, &$0) }
        case .uploadDeletion(let file, let fileVersion, let version, let group, let batch):
            let batch = batch.map { ModelBatch($0, version, "deletion \(fileVersion)") }
            return staging(file, in: group, version, batch, caller, now) {
                stageDeletion(of: file, fileVersion, caller, now, &$0)
            }
        case .getUploads(let group):
            return inGroup(group, caller, needs: .write, nil) { listStaged($0, of: group, caller, now) }
        case .discardUploads(let group, let files):
            guard capabilities.discardUploads else { return .refused(.endpointUnknown) }
            return inGroup(group, caller, needs: .write, nil) { group in
                for file in files { group.staged[.init(caller: caller, file: file)] = nil }
                return Answer(.done)
            }
        case .doneUploads(let commit): return perform(commit, caller, now)
        case .downloadFile(let file, let fileVersion, let textVersion, let version, let group):
            return inGroup(group, caller, needs: .read, version) { group in
                download(file, fileVersion, textVersion, group)
            }
        case .reuploadFile(let upload):
            return inGroup(upload.attributes.sharingGroupUUID, caller, needs: .write, nil) { group in
                reupload(upload, contents ?? "", caller, &group)
            }
        case .askForServerMove(let id): return Answer(.serverMove(isUnderWay: isMoving(id, caller.user)))
        case .settleAccountSwitch(let id): return settle(id, caller.user)
        case .downloadAppMetaData(let file, let textVersion, let version, let group):
            return inGroup(group, caller, needs: .read, version) { group in
                guard let known = group.files[file] else { return contradiction(.fileUnknown) }
                guard !known.isDeleted else { return contradiction(.fileDeleted) }
                guard let text = known.text else { return contradiction(.appMetaDataUnknown) }
                guard text.version == textVersion else {
                    return contradiction(.appMetaDataVersionMismatch)
                }
                return Answer(.appMetaDataDownloaded(text.contents))
            }
        case .removeUserFromSharingGroup(let group, let version):
            return inGroup(group, caller, needs: .read, version) { group in
                remove(caller.user, from: &group)
                return Answer(.done)
            }
        }
    }

    /// Checks membership, permission and master version, in this order; each reply is the protocol's.
    func inGroup(
        _ id: SharingGroupUUID, _ caller: ModelCaller, needs: Permission, _ version: MasterVersion?,
        _ body: (inout ModelGroup) -> Answer
    ) -> Answer {
        guard var group = groups[id], let permission = group.members[caller.user] else {
            return .refused(.notAMember)
        }
        guard permission.allows(needs) else { return .refused(.permissionTooLow) }
        if let version, version != group.masterVersion { return Answer(.stale(current: group.masterVersion)) }
        // Removed from the dictionary, so that it is modified in place, not copied.
        groups[id] = nil
        defer { groups[id] = group }
        return body(&group)
    }

    /// A refusal that clients with a current master version never receive.
    func contradiction(_ code: ErrorCode) -> Answer {
        .refused(code)
    }

    // MARK: Groups

    private func index(_ parameters: ServerRequest.IndexRequestParameters, _ caller: ModelCaller) -> Answer {
        var files: IndexResponse.Files?
        if let id = parameters.sharingGroupUUID {
            guard let group = groups[id], group.members[caller.user] != nil else {
                return .refused(.groupUnknown)
            }
            let since = capabilities.since ? parameters.since.flatMap { $0 > group.masterVersion ? nil : $0 } : nil
            let rows = group.files.filter { $0.value.changedAt > since ?? MasterVersion(-1) }
            files = IndexResponse.Files(
                masterVersion: group.masterVersion, since: since,
                fileIndex: rows.map { row($0.key, $0.value, id) }.sorted { $0.fileUUID < $1.fileUUID })
        }
        let mine = groups.filter { $0.value.members[caller.user] != nil }.sorted { $0.key < $1.key }
        let infos = mine.map { id, group in
            SharingGroupInfo(
                sharingGroupUUID: id, sharingGroupName: group.name, deleted: false, masterVersion: group.masterVersion,
                permission: group.members[caller.user] ?? .read, sharingGroupUsers: [],
                cloudStorageType: hosts[caller.user].flatMap { group.members[$0] == nil ? nil : storage(of: $0) },
                restoreMark: group.restored?.mark, restoredMasterVersion: group.restored?.masterVersion)
        }
        return Answer(.index(IndexResponse(files: files, sharingGroups: infos)))
    }

    private func row(_ id: FileUUID, _ file: ModelFile, _ group: SharingGroupUUID) -> FileInfo {
        var row = FileInfo(fileUUID: id, sharingGroupUUID: group, deleted: file.isDeleted)
        row.deviceUUID = file.device
        row.fileGroupUUID = file.fileGroup
        row.creationDate = file.creationDate
        row.updateDate = file.updateDate
        row.mimeType = file.mimeType
        row.appMetaDataVersion = file.text?.version
        row.fileVersion = file.version
        row.owningUserId = file.owner
        row.cloudStorageType = file.deletedFrom ?? storage(of: file.owner)
        row.awaitingReupload = file.content == .awaiting && !file.isDeleted
        return row
    }

    private func create(_ id: SharingGroupUUID, _ name: String?, _ caller: ModelCaller) -> Answer {
        if let known = groups[id] {
            let isOurs = known.creator == caller.user && known.members[caller.user] == .admin
            return isOurs ? Answer(.done) : .refused(.groupExists)
        }
        addGroup(id, name: name, admin: caller.user)
        return Answer(.done)
    }

    /// Creates a group.
    func addGroup(_ id: SharingGroupUUID, name: String?, admin: UserID) {
        var group = ModelGroup(creator: admin)
        group.name = name
        group.members[admin] = .admin
        groups[id] = group
    }

    /// Makes a user a member, as if an invitation was redeemed.
    func add(_ user: UserID, to id: SharingGroupUUID, _ permission: Permission) {
        groups[id]?.members[user] = permission
        raiseMasterVersion(of: id)
    }

    /// Increments the master version of a group.
    func raiseMasterVersion(of id: SharingGroupUUID) {
        guard let version = groups[id]?.masterVersion else { return }
        groups[id]?.masterVersion = version.next
    }

    /// Removes a user from a group: their files are marked deleted, their staged changes are removed.
    func remove(_ user: UserID, from group: inout ModelGroup) {
        group.members[user] = nil
        group.masterVersion = group.masterVersion.next
        group.staged = group.staged.filter { $0.key.caller.user != user }
        for (id, file) in group.files where file.owner == user || group.members.isEmpty {
            // Next versions that others staged for such a file could no longer be committed.
            for (key, change) in group.staged where key.file == id {
                if case .deletion = change.kind { continue }
                group.staged[key] = nil
            }
            guard !file.isDeleted else { continue }
            group.files[id]?.isDeleted = true
            group.files[id]?.changedAt = group.masterVersion
            note(group.files[id], id, nil, nil, undeletes: false, in: &group)
        }
        // Every member has storage. The server chooses the longest membership, which is unknown here, between equals.
        let highest = group.members.values.max()
        if highest != .admin, let heir = group.members.filter({ $0.value == highest }).keys.min() {
            group.members[heir] = .admin
        }
    }

    /// Restores an earlier state of its groups, as `syncctl backup restore` does.
    func restore(_ backup: [SharingGroupUUID: ModelGroup]) {
        restorations += 1
        guard let mark = RestoreMark("restoration-\(restorations)") else { preconditionFailure("the mark is valid") }
        groups = groups.merging(backup) { present, then in
            var group = then
            group.restored = (mark, min(then.restored?.masterVersion ?? then.masterVersion, then.masterVersion))
            group.formerHistory = present.formerHistory.merging(present.history) { $0 + $1 }
            return group
        }
    }

    /// Removes a user from all groups.
    func remove(_ user: UserID) {
        users.remove(user)
        for id in groups.keys.sorted() {
            guard var group = groups[id], group.members[user] != nil else { continue }
            remove(user, from: &group)
            groups[id] = group
        }
    }

    /// Records the result of a change, for the checks.
    func note(
        _ file: ModelFile?, _ id: FileUUID, _ contents: String?, _ text: AppMetaData?, undeletes: Bool,
        in group: inout ModelGroup
    ) {
        guard let file else { return }
        group.history[id, default: []].append(
            ModelCommittedChange(
                masterVersion: group.masterVersion, device: file.device, version: file.version, contents: contents,
                text: text, isDeleted: file.isDeleted, undeletes: undeletes))
    }
}
