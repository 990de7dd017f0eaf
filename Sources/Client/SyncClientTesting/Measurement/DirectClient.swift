internal import SyncEngine
internal import SyncProtocol
internal import SyncStore

/// A client whose requests are answered immediately, and whose app accepts everything, to measure only the library's
/// own work.
final class DirectClient {
    private let caller: ModelCaller
    private let server: ModelServer
    private let database: ClientDatabase
    private(set) var engine: SyncStateMachine
    private let now = WireDate(secondsSince1970: 1_700_000_000)
    private var locations = 0
    /// Requests that were sent.
    private(set) var requests = 0
    /// Transactions of the store.
    private(set) var transactions = 0
    /// Rows that were written or removed.
    private(set) var writtenRows = 0
    /// Files that were delivered.
    private(set) var deliveredFiles = 0
    /// The errors that were reported to the app.
    private(set) var errors: [SyncError] = []

    init(_ server: ModelServer, user: UserID, device: DeviceUUID, database: ClientDatabase) throws {
        self.server = server
        self.database = database
        caller = ModelCaller(user: user, device: device)
        let source = CommitIDSource()
        engine = SyncStateMachine(
            state: try database.load(),
            configuration: .init(
                deviceUUID: device, accountStorage: .google, capabilities: server.capabilities, maximumTransfers: 4,
                maximumBatchBytes: nil, makeCommitID: { source.make() }))
        try perform(engine.launch(at: now))
    }

    /// Queues a file.
    func upload(_ file: FileUUID, in group: SharingGroupUUID) throws {
        let attributes = SyncAttributes(fileUUID: file, sharingGroupUUID: group, mimeType: MIMEType("text/plain"))
        let source = UploadSource(location: LocalFileLocation(base: .documents, path: file.rawValue), isOwned: false)
        try perform(try engine.upload(source, attributes, at: now))
    }

    /// Syncs a group, or the list of groups, to the end.
    func sync(_ group: SharingGroupUUID?) throws {
        try perform(try engine.sync(SyncRequest(sharingGroupUUID: group), at: now))
    }

    private func perform(_ actions: [EngineAction]) throws {
        var events = events(after: try store(actions))
        while !events.isEmpty {
            let next = events.removeFirst()
            events += self.events(after: try store(engine.handle(next, at: now)))
        }
    }

    private func store(_ actions: [EngineAction]) throws -> [EngineAction] {
        let changes = engine.takeChanges()
        if !changes.isEmpty {
            transactions += 1
            writtenRows += changes.count
            try database.write(changes)
        }
        return actions
    }

    /// The events that answer the actions.
    private func events(after actions: [EngineAction]) -> [EngineEvent] {
        var events: [EngineEvent] = []
        for action in actions {
            switch action {
            case .send(let token, let request): events.append(.reply(token, reply(to: request)))
            case .deliver(let token, let operations, _):
                deliveredFiles += operations.count
                events.append(.delivered(token, taken: true))
            case .resolveContentConflict(let token, _):
                events.append(.contentConflictResolved(token, .acceptContentDownload))
            case .resolveDeletionConflicts(let token, let conflicts):
                let files = conflicts.map {
                    ($0.attributes.fileUUID, DownloadDeletionResolution.acceptDownloadDeletion)
                }
                events.append(
                    .deletionConflictsResolved(token, Dictionary(files, uniquingKeysWith: { first, _ in first })))
            case .askForContents(let token, _, _): events.append(.contents(token, .notAvailable))
            case .wait(let token, _): events.append(.waited(token))
            case .reportError(let error): errors.append(error)
            case .cancel, .removeFile, .report, .reportSharingGroups: break
            }
        }
        return events
    }

    private func reply(to request: ServerRequest) -> ServerReply {
        requests += 1
        let reply = server.perform(request, from: caller, contents: "contents", at: now).reply
        guard case .fileDownloaded(let file) = reply else { return reply }
        locations += 1
        return .fileDownloaded(
            .init(
                location: LocalFileLocation(base: .library, path: "\(locations)"), appMetaData: file.appMetaData,
                cloudStorageType: file.cloudStorageType, contentsChanged: file.contentsChanged))
    }
}

extension StateChanges {
    /// The number of changed rows.
    var count: Int {
        groups.count + directory.count + queues.count + items.count + downloadGroups.count + downloads.count
            + transfers.count
    }
}
