public import Foundation
public import SyncClient
internal import SyncEngine
internal import SyncProtocol
internal import Synchronization

/// The parameters for an app's launch on a simulated phone.
public struct SimulatedLaunch: Sendable {
    /// The app's own folder, which survives the process.
    public let folder: URL
    /// The sharing group that all users are members of, unless the test states otherwise.
    public let sharingGroupUUID: SharingGroupUUID
    private let make: @Sendable (_ configure: (inout SyncServer.Configuration) -> Void) throws -> SyncServer

    init(
        folder: URL, sharingGroupUUID: SharingGroupUUID,
        make: @escaping @Sendable (_ configure: (inout SyncServer.Configuration) -> Void) throws -> SyncServer
    ) {
        self.folder = folder
        self.sharingGroupUUID = sharingGroupUUID
        self.make = make
    }

    /// Creates the app's client, which the app must retain. Files in ``folder`` have locations below
    /// `LocalFileLocation.Base.documents`.
    /// - Parameter configure: Changes the configuration before it is used, such as the conflict resolver.
    /// - Throws: `SyncError` with `storeError`.
    public func makeClient(
        configure: (inout SyncServer.Configuration) -> Void = { _ in }
    ) throws -> SyncServer {
        try make(configure)
    }
}

/// A phone with an app whose process may end at any time.
public final class SimulatedPhone<App: AnyObject & Sendable>: AnySimulatedPhone {
    let index: Int
    let user: UserID
    private let folder: URL
    private let device: DeviceUUID
    private let scheduler: SimulatedScheduler
    private let launch: @Sendable (SimulatedLaunch) throws -> App
    private let state = Mutex(State())

    private struct State {
        var app: App?
        var client: SyncServer?
        /// Forwards calls from the client, which holds its delegate weakly, to the app.
        var repeater: RepeatingDelegate?
        var launches = 0
        var names = 0
    }

    init(
        index: Int, user: UserID, _ scheduler: SimulatedScheduler,
        launch: @escaping @Sendable (SimulatedLaunch) throws -> App
    ) throws {
        self.index = index
        self.user = user
        self.scheduler = scheduler
        self.launch = launch
        guard let device = DeviceUUID("00000000-0000-4000-B000-" + Self.digits(index)) else {
            preconditionFailure("the text is a UUID")
        }
        self.device = device
        folder = FileManager.default.temporaryDirectory.appending(path: "phone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "app"), withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static func digits(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 12 - digits.count) + digits
    }

    /// The app's current process.
    public var app: App {
        guard let app = state.withLock({ $0.app }) else { preconditionFailure("a phone's app is always launched") }
        return app
    }

    /// The number of times that the app was launched.
    public var launches: Int { state.withLock { $0.launches } }

    var client: SyncServer? { state.withLock { $0.client } }

    /// Ends the app's process, and launches it again.
    public func relaunch() async throws {
        await end()
        try await start()
    }

    func end() async {
        let client = state.withLock { state in
            defer {
                state.app = nil
                state.client = nil
                state.repeater = nil
            }
            return state.client
        }
        await client?.close()
    }

    func start() async throws {
        guard client == nil else { return }
        let launch = SimulatedLaunch(
            folder: folder.appending(path: "app"), sharingGroupUUID: scheduler.group,
            make: { [weak self] configure in
                guard let self else { throw CancellationError() }
                return try self.makeClient(configure)
            })
        let app = try self.launch(launch)
        let client = state.withLock { state in
            state.app = app
            state.launches += 1
            return state.client
        }
        if let delegate = client?.delegate {
            let repeater = RepeatingDelegate(delegate, scheduler, index)
            state.withLock { $0.repeater = repeater }
            client?.delegate = repeater
        }
        client?.resumePendingUploads()
    }

    private func makeClient(_ configure: (inout SyncServer.Configuration) -> Void) throws -> SyncServer {
        guard let url = URL(string: "https://simulated.invalid/") else { preconditionFailure("the text is a URL") }
        var configuration = SyncServer.Configuration(serverURL: url, storeFolder: folder.appending(path: "store"))
        configuration.deviceUUID = device
        configuration.baseFolders = [.documents: folder.appending(path: "app")]
        configure(&configuration)
        // The phone does this itself, at a time that does not depend on the machine.
        configuration.syncsPendingUploadsAtLaunch = false
        // Concurrent requests would arrive in an order that the seed does not determine.
        configuration.maximumTransfers = 1
        let scheduler = scheduler
        let index = index
        let environment = SyncEnvironment(
            now: { scheduler.date },
            sleep: { try await scheduler.sleep($0 / .seconds(1), phone: index) },
            randomSeconds: { $0.lowerBound + scheduler.chance(below: $0.count, phone: index) },
            makeUUID: { [weak self] in self?.makeUUID() ?? UUID().uuidString })
        let client = try SyncServer(
            configuration, nil, environment,
            accountStorage: scheduler.world { [user] in $0.hasStorage(user) } ? .google : nil, userID: user,
            capabilities: .all,
            performer: SimulatedNetwork(scheduler, ModelCaller(user: user, device: device), index))
        state.withLock { $0.client = client }
        return client
    }

    private func makeUUID() -> String {
        state.withLock { state in
            state.names += 1
            let phone = String(index + 1)
            return "00000000-0000-4000-9" + String(repeating: "0", count: 3 - phone.count) + phone + "-"
                + Self.digits(state.names)
        }
    }
}

/// A phone with any app.
protocol AnySimulatedPhone: AnyObject, Sendable {
    var index: Int { get }
    var user: UserID { get }
    /// Nil while no process of the app is running.
    var client: SyncServer? { get }
    func start() async throws
    func end() async
}

/// Passes requests to the in-memory server, and stores received bytes in files.
private struct SimulatedNetwork: RequestPerformer {
    private let scheduler: SimulatedScheduler
    private let caller: ModelCaller
    private let phone: Int

    init(_ scheduler: SimulatedScheduler, _ caller: ModelCaller, _ phone: Int) {
        self.scheduler = scheduler
        self.caller = caller
        self.phone = phone
    }

    func reply(
        to request: ServerRequest, files: LibraryFiles, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> ServerReply {
        var contents: String?
        if case .uploadFile(let upload) = request {
            guard let url = files.url(of: upload.source), let data = try? Data(contentsOf: url),
                upload.fileSize.map({ $0 == data.count }) ?? true
            else { return .failed(.localFile) }
            // The model stores texts.
            contents = data.base64EncodedString()
        }
        if case .uploadSmallFiles(let uploads) = request {
            var texts: [String] = []
            for upload in uploads {
                guard let url = files.url(of: upload.source), let data = try? Data(contentsOf: url),
                    upload.fileSize.map({ $0 == data.count }) ?? true
                else { return .failed(.localFile) }
                texts.append(data.base64EncodedString())
            }
            contents = texts.joined(separator: String(ModelServer.separator))
        }
        let answer = await scheduler.reply(to: request, from: caller, phone: phone, contents: contents)
        guard case .fileDownloaded(let file) = answer.reply else { return answer.reply }
        let location = files.makeLocation()
        guard let data = Data(base64Encoded: answer.contents ?? ""), let url = files.url(of: location),
            (try? data.write(to: url)) != nil
        else { return .failed(.localFile) }
        return .fileDownloaded(
            .init(
                location: location, appMetaData: file.appMetaData, cloudStorageType: file.cloudStorageType,
                contentsChanged: file.contentsChanged))
    }
}

/// Forwards everything to an app, and sometimes drops the app's acknowledgement of a delivery.
private final class RepeatingDelegate: SyncServerDelegate {
    private struct Forgotten: Error {}

    private let app: WeakDelegate
    private let scheduler: SimulatedScheduler
    private let phone: Int

    private struct WeakDelegate: Sendable {
        weak let delegate: (any SyncServerDelegate)?
    }

    init(_ app: any SyncServerDelegate, _ scheduler: SimulatedScheduler, _ phone: Int) {
        self.app = WeakDelegate(delegate: app)
        self.scheduler = scheduler
        self.phone = phone
    }

    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution? {
        await app.delegate?.syncServerMustResolveContentDownloadConflict(
            downloadContent, downloadedContentAttributes: downloadedContentAttributes, conflictType: conflictType)
    }

    func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution] {
        await app.delegate?.syncServerMustResolveDownloadDeletionConflicts(conflicts) ?? [:]
    }

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        guard let delegate = app.delegate else { throw Forgotten() }
        try await delegate.syncServerFileGroupDownloadComplete(group: group)
        if scheduler.redelivers(to: phone) { throw Forgotten() }
    }

    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws {
        guard let delegate = app.delegate else { throw Forgotten() }
        try await delegate.syncServerFileGroupDownloadGone(group: group)
        if scheduler.redelivers(to: phone) { throw Forgotten() }
    }

    func syncServerSharingGroupsDownloaded(
        created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
    ) async {
        await app.delegate?.syncServerSharingGroupsDownloaded(created: created, updated: updated, deleted: deleted)
    }

    func contentForReupload(of attributes: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        await app.delegate?.contentForReupload(of: attributes, fileVersion: fileVersion) ?? .notAvailable
    }
}
