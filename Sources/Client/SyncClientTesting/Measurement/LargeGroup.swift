import Foundation
import SyncEngine
import SyncProtocol
import SyncStore

/// Measures a client's cost of a sharing group with many files: the engine and its store on disk, with a server that
/// answers immediately.
public final class LargeGroup {
    /// The cost of a sync or another step.
    public struct Cost: Sendable {
        /// The name of the step.
        public let name: String
        /// The duration in seconds, including the model of the server.
        public let seconds: Double
        /// Requests that were sent.
        public let requests: Int
        /// Transactions of the store.
        public let transactions: Int
        /// Rows that were written or removed.
        public let writtenRows: Int
        /// Files that were delivered to the app.
        public let deliveredFiles: Int
        /// Resident memory afterwards, in bytes; nil if the system does not report it. Includes the model of the server
        /// and the client that uploaded the files.
        public let residentBytes: Int?
    }

    private let clock = ContinuousClock()
    private let group: SharingGroupUUID
    private let files: [FileUUID]
    private let folder: URL
    private var costs: [Cost] = []

    /// Uploads `count` files on one device, downloads them on another, and continues from there.
    /// - Returns: In this order, the costs of: queueing the uploads one by one, and in one call, sending them, their
    ///   first download, a sync with nothing to do, one changed file, and a relaunch.
    /// - Throws: Errors of the file system and the store.
    public static func measure(files count: Int) throws -> [Cost] {
        let measurement = try LargeGroup(count)
        defer { try? FileManager.default.removeItem(at: measurement.folder) }
        try measurement.run()
        return measurement.costs
    }

    private init(_ count: Int) throws {
        guard let group = SharingGroupUUID(Self.uuid(0)) else { preconditionFailure("the text is a UUID") }
        self.group = group
        files = (1...count).compactMap { FileUUID(Self.uuid($0)) }
        folder = FileManager.default.temporaryDirectory.appending(path: "LargeGroup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private static func uuid(_ number: Int) -> String {
        let digits = String(number)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private func run() throws {
        let server = ModelServer(capabilities: .all)
        server.users = [UserID(1)]
        server.addGroup(group, name: "Album", admin: UserID(1))
        let sender = try client(of: server, "A")
        let receiver = try client(of: server, "B")
        try sender.sync(nil)
        try receiver.sync(nil)
        let (group, files) = (group, files)
        let other = try client(of: server, "C")
        try other.sync(nil)
        try measure("queue \(files.count) uploads", other) { for file in files { try $0.upload([file], in: group) } }
        try measure("the same in one call", sender) { try $0.upload(files, in: group) }
        try measure("send them", sender) { try $0.sync(group) }
        try measure("download them", receiver) { try $0.sync(group) }
        try measure("sync without a change", receiver) { try $0.sync(group) }
        try sender.upload([files[files.count / 2]], in: group)
        try sender.sync(group)
        try measure("sync of one changed file", receiver) { try $0.sync(group) }
        var relaunched: DirectClient?
        try measure("launch", receiver) { _ in relaunched = try client(of: server, "B") }
        guard sender.errors.isEmpty, receiver.errors.isEmpty, relaunched?.errors.isEmpty == true else {
            preconditionFailure("a sync without faults has failed")
        }
    }

    private func client(of server: ModelServer, _ name: String) throws -> DirectClient {
        guard let device = DeviceUUID("00000000-0000-4000-8000-00000000000\(name)") else {
            preconditionFailure("the text is a UUID")
        }
        return try DirectClient(
            server, user: UserID(1), device: device,
            database: try ClientDatabase(path: folder.appending(path: "\(name).sqlite").path))
    }

    private func measure(
        _ name: String, _ client: DirectClient, _ body: (DirectClient) throws -> Void
    ) throws {
        let before = (client.requests, client.transactions, client.writtenRows, client.deliveredFiles)
        let time = try clock.measure { try body(client) }
        costs.append(
            Cost(
                name: name, seconds: time / .seconds(1), requests: client.requests - before.0,
                transactions: client.transactions - before.1, writtenRows: client.writtenRows - before.2,
                deliveredFiles: client.deliveredFiles - before.3, residentBytes: ProcessMemory.residentBytes))
    }
}

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

    /// Queues files.
    func upload(_ files: [FileUUID], in group: SharingGroupUUID) throws {
        let uploads = files.map { file in
            (
                source: UploadSource(
                    location: LocalFileLocation(base: .documents, path: file.rawValue), isOwned: false),
                attributes: SyncAttributes(
                    fileUUID: file, sharingGroupUUID: group, mimeType: MIMEType("text/plain"))
            )
        }
        try perform(try engine.upload(uploads, at: now))
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
            case .cancel, .removeFile, .report, .reportSharingGroups, .syncFailed: break
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

/// The memory and disk space that this process uses.
enum ProcessMemory {
    /// Resident memory in bytes; nil if the system does not report it in `/proc` (proc_pid_statm(5)).
    static var residentBytes: Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The size of an SQLite database on disk in bytes, including its log.
    static func databaseBytes(_ path: String) -> Int {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
            return sum + ((attributes?[.size] as? NSNumber)?.intValue ?? 0)
        }
    }
}
