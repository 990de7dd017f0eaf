import SyncEngine
import SyncProtocol
import Testing

/// An engine with a store in memory, whose requests a test answers one by one.
struct Driver {
    static let group = SharingGroupUUID("11111111-0000-4000-8000-000000000001")!
    static let otherGroup = SharingGroupUUID("11111111-0000-4000-8000-000000000009")!
    static let device = DeviceUUID("22222222-0000-4000-8000-000000000001")!
    static let otherDevice = DeviceUUID("22222222-0000-4000-8000-000000000002")!
    static let user = UserID(7)
    static let otherUser = UserID(8)
    static let now = WireDate(secondsSince1970: 1_700_000_000)

    var engine: SyncStateMachine
    var stored = ClientState()
    /// All actions so far.
    var actions: [EngineAction] = []
    /// The tokens and requests that wait for a reply, oldest first.
    var outstanding: [(token: EngineToken, request: ServerRequest)] = []
    /// The oldest outstanding request.
    var waiting: (token: EngineToken, request: ServerRequest)? { outstanding.first }
    /// Requests whose outcome the engine no longer needs.
    var cancelled: [EngineToken] = []
    let maximumTransfers: Int
    /// The token of the last question or delivery.
    var asked: EngineToken?
    /// The master version in the driver's replies to index requests.
    var masterVersion = MasterVersion(1)
    var rows: [FileInfo] = []
    /// The groups that the server lists.
    var groups = [Driver.group]
    /// The user's permission in them.
    var permission = Permission.admin
    /// The mark and the master version of the server's last restoration.
    var restored: (mark: RestoreMark, masterVersion: MasterVersion)?

    init(capabilities: ServerCapabilities = .withoutBatches, maximumTransfers: Int = 1) {
        self.maximumTransfers = maximumTransfers
        engine = Self.engine(ClientState(), capabilities, maximumTransfers)
        perform(engine.launch(at: Self.now))
    }

    /// A member of ``group``, or of several groups, with files on the server.
    static func member(
        of rows: [FileInfo] = [], groups: [SharingGroupUUID] = [Driver.group],
        capabilities: ServerCapabilities = .withoutBatches,
        maximumTransfers: Int = 1
    ) throws -> Driver {
        var driver = Driver(capabilities: capabilities, maximumTransfers: maximumTransfers)
        driver.groups = groups
        try driver.sync(nil)
        driver.rows = rows
        driver.replyIndex()
        return driver
    }

    private static func engine(
        _ state: ClientState, _ capabilities: ServerCapabilities, _ maximumTransfers: Int
    ) -> SyncStateMachine {
        var configuration = SyncStateMachine.Configuration(
            deviceUUID: device, accountStorage: .google, capabilities: capabilities,
            maximumTransfers: maximumTransfers, maximumBatchBytes: 1_000,
            makeCommitID: { CommitID("33333333-0000-4000-8000-000000000001")! })
        configuration.userID = user
        return SyncStateMachine(state: state, configuration: configuration)
    }

    static func file(_ number: Int) -> FileUUID {
        let digits = String(number)
        return FileUUID("44444444-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits)!
    }

    static func fileGroup(_ number: Int) -> FileGroupUUID {
        FileGroupUUID("55555555-0000-4000-8000-00000000000\(number)")!
    }

    static func row(
        _ number: Int, version: Int32 = 0, deleted: Bool = false, text: Int32? = nil, device: DeviceUUID = otherDevice,
        fileGroup: FileGroupUUID? = nil, group: SharingGroupUUID = Driver.group, owner: UserID = user,
        awaits: Bool = false
    ) -> FileInfo {
        var row = FileInfo(fileUUID: file(number), sharingGroupUUID: group, deleted: deleted)
        row.deviceUUID = device
        row.fileVersion = FileVersion(version)
        row.appMetaDataVersion = text.map { AppMetaDataVersion($0) }
        row.mimeType = MIMEType("text/plain")
        row.fileGroupUUID = fileGroup
        row.cloudStorageType = awaits ? .dropbox : .google
        row.owningUserId = owner
        row.awaitingReupload = awaits
        return row
    }

    mutating func perform(_ new: [EngineAction]) {
        stored.apply(engine.takeChanges())
        #expect(stored == engine.state)
        #expect(engine.state.violations() == [])
        for action in new {
            switch action {
            case .send(let token, let request): outstanding.append((token, request))
            case .cancel(let token): cancelled.append(token)
            case .resolveContentConflict(let token, _), .resolveDeletionConflicts(let token, _),
                .deliver(let token, _, _), .askForContents(let token, _, _),
                .wait(let token, _):
                asked = token
            default: break
            }
        }
        actions += new
    }

    mutating func sync(_ group: SharingGroupUUID? = Driver.group, reAttemptGone: Bool = false) throws {
        perform(
            try engine.sync(
                SyncRequest(sharingGroupUUID: group, reAttemptGoneDownloads: reAttemptGone), at: Self.now))
    }

    /// Answers the oldest request, or the one at `position`.
    mutating func reply(_ reply: ServerReply, at position: Int = 0) {
        guard outstanding.indices.contains(position) else {
            Issue.record("no request waits for a reply")
            return
        }
        let token = outstanding.remove(at: position).token
        perform(engine.handle(.reply(token, reply), at: Self.now))
    }

    mutating func replyIndex() {
        guard case .index(let parameters) = waiting?.request else {
            Issue.record("expected an index request, but got \(String(describing: waiting?.request))")
            return
        }
        let infos = groups.map {
            SharingGroupInfo(
                sharingGroupUUID: $0, sharingGroupName: "Family", deleted: false, masterVersion: masterVersion,
                permission: permission, sharingGroupUsers: [], cloudStorageType: nil, restoreMark: restored?.mark,
                restoredMasterVersion: restored?.masterVersion)
        }
        let files = parameters.sharingGroupUUID.map { group in
            IndexResponse.Files(
                masterVersion: masterVersion, fileIndex: rows.filter { $0.sharingGroupUUID == group })
        }
        reply(.index(IndexResponse(files: files, sharingGroups: infos)))
    }

    /// Answers all requests, but no questions to the app, until none is left; commits succeed.
    mutating func finish(refusing refusals: [FileUUID: ServerReply] = [:]) {
        while let request = waiting?.request {
            switch request {
            case .index: replyIndex()
            case .getUploads(let group):
                let staged = engine.state.items.all.filter { $0.isStaged && $0.sharingGroupUUID == group }
                reply(
                    .uploads(
                        staged.compactMap { item in
                            guard let file = item.fileUUID else { return nil }
                            var row = FileInfo(
                                fileUUID: file, sharingGroupUUID: group, deleted: item.kind == .deletion)
                            row.fileVersion = item.kind == .appMetaData ? nil : item.stagedFileVersion
                            return row
                        }))
            case .doneUploads:
                masterVersion = masterVersion.next
                reply(.committed(numberUploadsTransferred: 99))
            case .uploadFile(let upload) where refusals[upload.fileUUID] != nil:
                reply(refusals[upload.fileUUID] ?? .done)
            default: replyStaged()
            }
        }
    }

    /// Answers a download with contents.
    mutating func replyFile(_ path: String = "down", text: String? = nil, at position: Int = 0) {
        guard outstanding.indices.contains(position), case .downloadFile = outstanding[position].request else {
            Issue.record("expected a download request, but got \(String(describing: waiting?.request))")
            return
        }
        reply(
            .fileDownloaded(
                .init(
                    location: LocalFileLocation(base: .library, path: path), appMetaData: text,
                    cloudStorageType: .google, contentsChanged: false)), at: position)
    }

    /// Answers all kinds of download requests until there is a delivery.
    mutating func replyDownloads(texts: [FileUUID: String] = [:]) {
        while asked == nil {
            switch waiting?.request {
            case .downloadFile(let file, _, _, _, _): replyFile("down\(requests.count)", text: texts[file])
            case .downloadAppMetaData(let file, _, _, _): reply(.appMetaDataDownloaded(texts[file] ?? ""))
            default: return
            }
        }
    }

    /// Answers downloads and accepts deliveries until another request is made.
    mutating func takeAll(texts: [FileUUID: String] = [:]) {
        replyDownloads(texts: texts)
        while asked != nil {
            takeDelivery()
            replyDownloads(texts: texts)
        }
    }

    /// - Parameter bytes: The size of each file.
    mutating func takeDelivery(bytes: Int64? = nil) {
        guard let token = asked else {
            Issue.record("there is no delivery")
            return
        }
        asked = nil
        let files = bytes == nil ? [] : deliveries.last?.map(\.attributes.fileUUID) ?? []
        let sizes = Dictionary(files.map { ($0, bytes ?? 0) }, uniquingKeysWith: { $1 })
        perform(engine.handle(.delivered(token, taken: true, sizes: sizes), at: Self.now))
    }

    mutating func answer(_ resolution: ContentDownloadResolution?) {
        guard let token = asked else {
            Issue.record("there is no question")
            return
        }
        asked = nil
        perform(engine.handle(.contentConflictResolved(token, resolution), at: Self.now))
    }

    /// Answers a question for contents that the server lacks.
    mutating func supply(_ contents: SuppliedContents) {
        guard let token = asked else {
            Issue.record("there is no question")
            return
        }
        asked = nil
        perform(engine.handle(.contents(token, contents), at: Self.now))
    }

    /// Contents in a file of the app.
    static func contents(_ path: String = "mine", size: Int64? = nil) -> SuppliedContents {
        .file(UploadSource(location: LocalFileLocation(base: .documents, path: path), isOwned: false, size: size))
    }

    mutating func answer(_ resolutions: [FileUUID: DownloadDeletionResolution]) {
        guard let token = asked else {
            Issue.record("there is no question")
            return
        }
        asked = nil
        perform(engine.handle(.deletionConflictsResolved(token, resolutions), at: Self.now))
    }

    mutating func replyStaged(at position: Int = 0) {
        guard outstanding.indices.contains(position), case .uploadFile = outstanding[position].request else {
            reply(.done, at: position)
            return
        }
        reply(.fileStaged(creationDate: Self.now, updateDate: Self.now), at: position)
    }

    /// Another device commits version 0 of a file, which is delivered to this device.
    mutating func download(_ number: Int, text: String? = nil) throws {
        rows.append(Self.row(number, text: text == nil ? nil : 0))
        masterVersion = masterVersion.next
        try sync()
        replyIndex()
        replyFile("down\(number)", text: text)
        takeDelivery()
        replyIndex()
    }

    /// The process ends, and a new one starts with the stored state.
    mutating func relaunch(capabilities: ServerCapabilities = .withoutBatches) {
        outstanding = []
        asked = nil
        engine = Self.engine(stored, capabilities, maximumTransfers)
        perform(engine.launch(at: Self.now))
    }

    static func attributes(
        _ number: Int, mimeType: String = "text/plain", fileGroup: FileGroupUUID? = nil, text: String? = nil,
        group: SharingGroupUUID = Driver.group
    ) -> SyncAttributes {
        var attributes = SyncAttributes(
            fileUUID: file(number), sharingGroupUUID: group, mimeType: MIMEType(mimeType), fileGroupUUID: fileGroup)
        attributes.appMetaData = text
        return attributes
    }

    mutating func upload(_ attributes: SyncAttributes, _ path: String = "up", size: Int64? = nil) throws {
        perform(try engine.upload(Self.source(path, size: size), attributes, at: Self.now))
    }

    static func source(_ path: String, size: Int64? = nil) -> UploadSource {
        UploadSource(location: LocalFileLocation(base: .documents, path: path), isOwned: false, size: size)
    }

    mutating func uploadText(_ attributes: SyncAttributes) throws {
        perform(try engine.uploadAppMetaData(attributes, at: Self.now))
    }

    mutating func delete(_ numbers: Int...) throws {
        perform(try engine.delete(numbers.map { Self.file($0) }, at: Self.now))
    }

    // MARK: Recorded actions

    var events: [SyncEvent] {
        actions.compactMap { if case .report(let event) = $0 { event } else { nil } }
    }

    var errors: [SyncError.Code] {
        actions.compactMap { if case .reportError(let error) = $0 { error.code } else { nil } }
    }

    /// The groups whose sync has failed, while another one follows.
    var failedSyncs: [SharingGroupUUID] {
        actions.compactMap { if case .syncFailed(let group, _) = $0 { group } else { nil } }
    }

    var deliveries: [[DownloadOperation]] {
        actions.compactMap { if case .deliver(_, let operations, _) = $0 { operations } else { nil } }
    }

    var contentConflicts: [ContentDownloadConflict] {
        actions.compactMap { if case .resolveContentConflict(_, let conflict) = $0 { conflict } else { nil } }
    }

    /// The files whose contents were requested from the app, with the versions that it has.
    var contentRequests: [(file: FileUUID, version: FileVersion)] {
        actions.compactMap {
            if case .askForContents(_, let attributes, let version) = $0 { (attributes.fileUUID, version) } else { nil }
        }
    }

    /// The errors of waiting uploads.
    var waits: [SyncError] {
        events.compactMap { if case .singleFileUploadWaiting(_, let error) = $0 { error } else { nil } }
    }

    var deletionConflicts: [DownloadDeletionConflict] {
        actions.flatMap { action -> [DownloadDeletionConflict] in
            if case .resolveDeletionConflicts(_, let conflicts) = action { conflicts } else { [] }
        }
    }

    var requests: [ServerRequest] {
        actions.compactMap { if case .send(_, let request) = $0 { request } else { nil } }
    }

    /// The files whose deletion was requested.
    var uploadDeletions: [FileUUID] {
        requests.compactMap { if case .uploadDeletion(let file, _, _, _, _) = $0 { file } else { nil } }
    }

    /// The files whose contents were requested.
    var fileDownloads: [FileUUID] {
        requests.compactMap { if case .downloadFile(let file, _, _, _, _) = $0 { file } else { nil } }
    }

    var fileUploads: [FileUpload] {
        requests.compactMap { if case .uploadFile(let upload) = $0 { upload } else { nil } }
    }

    var commits: [ServerRequest.Commit] {
        requests.compactMap { if case .doneUploads(let commit) = $0 { commit } else { nil } }
    }
}

extension ServerCapabilities {
    /// A server that requires a separate commit request.
    static let withoutBatches = Self(commitID: true, since: true, discardUploads: true, batches: false)
}

/// The error code with which a call fails; nil if it succeeds.
func refusal(_ body: () throws -> Void) -> SyncError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? SyncError)?.code
    }
}
