public import Foundation
// Clients of the library also need its value types; this makes one import sufficient.
@_exported public import SyncEngine
@_exported public import SyncProtocol
@_exported public import SyncServerConnection
import Synchronization

/// Keeps the files of a group of people in sync on all their devices.
///
/// An app queues changes (``uploadImmutable(localFile:withAttributes:)``, ``delete(filesWithUUIDs:)`` …), which works
/// without a network and survives the process, and requests syncs. Its ``SyncServerDelegate`` receives changes made by
/// others. Only one instance at a time uses a store; other processes queue uploads in its ``UploadInbox``.
///
/// All members may be called from any thread.
public final class SyncServer: Sendable {
    let driver: SyncDriver
    let configuration: Configuration
    /// Nil in a simulation, which has no accounts.
    package let connection: ServerConnection?
    let credentialProvider: (any CredentialProvider)?
    private let launchTask = Mutex<Task<Void, Never>?>(nil)

    /// Opens the store, repairs the last process's interrupted work, and sends its unsent queues (see
    /// ``Configuration/syncsPendingUploadsAtLaunch``).
    /// - Parameters:
    ///   - delegate: Held weakly. Without one, downloads and conflicts wait.
    ///   - executor: Performs the requests; nil: `PlatformExecutor` does, with ``Configuration/maximumTransfers`` and
    ///     ``Configuration/network``. An executor with a background session, where the system supports these, continues
    ///     without the process; its results are then passed to ``take(_:)``.
    /// - Throws: `storeInUse` if another process or instance has the store; `storeError`.
    public convenience init(
        configuration: Configuration, credentialProvider: any CredentialProvider,
        delegate: (any SyncServerDelegate)? = nil, executor: (any HTTPExecutor)? = nil
    ) throws(SyncError) {
        try self.init(
            configuration, credentialProvider, delegate, .system,
            executor: executor
                ?? PlatformExecutor(maximumTransfers: configuration.maximumTransfers, network: configuration.network))
    }

    /// Like the public initialiser, with an environment and an HTTP stack supplied by the caller.
    package init(
        _ configuration: Configuration, _ credentialProvider: any CredentialProvider,
        _ delegate: (any SyncServerDelegate)?, _ environment: SyncEnvironment, executor: any HTTPExecutor,
        connectionEnvironment: ConnectionEnvironment = .system
    ) throws(SyncError) {
        let driver = try SyncDriver(configuration, environment)
        var connectionConfiguration = ServerConnectionConfiguration(
            baseURL: configuration.serverURL, deviceUUID: driver.deviceUUID)
        connectionConfiguration.minimumServerVersion = configuration.minimumServerVersion
        connectionConfiguration.maintenanceMessageURL = configuration.failoverMessageURL
        connectionConfiguration.retryPolicy = configuration.retryPolicy
        connectionConfiguration.directUploads = configuration.directUploads
        connectionConfiguration.directDownloads = configuration.directDownloads
        connectionConfiguration.logger = configuration.logger
        connectionConfiguration.identity = { [weak driver] in driver?.knownIdentity ?? KnownIdentity() }
        connectionConfiguration.observer = { [weak driver] in driver?.observe($0) }
        let connection = ServerConnection(
            connectionConfiguration, credentialProvider: credentialProvider, executor: executor,
            environment: connectionEnvironment)
        self.driver = driver
        self.configuration = configuration
        self.connection = connection
        self.credentialProvider = credentialProvider
        driver.delegate = delegate
        driver.start(
            ConnectionPerformer(connection, credentialProvider) { [weak driver] user, type throws(SyncError) in
                try driver?.bind(user, type)
            })
        resumeAfterLaunch()
    }

    /// A client that sends its requests to `performer`, such as an in-memory server. It has no users: members that
    /// concern users throw `notSupported`.
    /// - Parameters:
    ///   - accountStorage: The user's cloud storage; nil for a user without storage.
    ///   - userID: The user; nil if unknown.
    package init(
        _ configuration: Configuration, _ delegate: (any SyncServerDelegate)?, _ environment: SyncEnvironment,
        accountStorage: CloudStorageType?, userID: UserID? = nil, capabilities: ServerCapabilities,
        performer: any RequestPerformer
    ) throws(SyncError) {
        driver = try SyncDriver(configuration, environment)
        self.configuration = configuration
        connection = nil
        credentialProvider = nil
        driver.delegate = delegate
        driver.use(accountStorage: accountStorage, userID, capabilities)
        driver.start(performer)
        resumeAfterLaunch()
    }

    deinit {
        launchTask.withLock { $0?.cancel() }
        driver.abandon()
    }

    private func resumeAfterLaunch() {
        driver.takeInbox()
        guard configuration.syncsPendingUploadsAtLaunch, uploadsPending || accountSwitch?.phase == .reuploading else {
            return
        }
        let (driver, grace) = (driver, configuration.launchGrace)
        let task = Task {
            do { try await driver.environment.sleep(grace) } catch { return }
            driver.resumePendingUploads()
        }
        launchTask.withLock { $0 = task }
    }

    /// Receives the library's deliveries and questions; held weakly.
    public var delegate: (any SyncServerDelegate)? {
        get { driver.delegate }
        set { driver.delegate = newValue }
    }

    /// The UUID that identifies this device to the server.
    public var deviceUUID: DeviceUUID { driver.deviceUUID }

    /// Ends the library's work and releases the store. Operations in progress count as interrupted; the next instance
    /// resumes them. All later calls throw `closed`.
    public func close() async {
        launchTask.withLock { $0?.cancel() }
        await driver.close()
    }

    /// The URL of a location on this device; nil if the device has no such base.
    public func url(of location: LocalFileLocation) -> URL? { driver.files.url(of: location) }

    /// The location of a file, as queue calls expect it.
    public func location(of url: URL) -> LocalFileLocation { driver.files.location(of: url) }

    // MARK: The shared instance

    private static let shared = Mutex<SyncServer?>(nil)

    /// Sets the process's shared instance; see ``session``.
    public static func bootstrap(_ server: SyncServer) {
        shared.withLock { $0 = server }
    }

    /// The instance that was passed to ``bootstrap(_:)``, which must be called first.
    public static var session: SyncServer {
        guard let server = shared.withLock({ $0 }) else {
            preconditionFailure("call SyncServer.bootstrap(_:) before SyncServer.session")
        }
        return server
    }
}

extension SyncServer {
    /// Waits until every delegate call that is currently due has returned. For tests.
    package func callbacksDelivered() async {
        let lane = driver.state.withLock { $0.lane }
        await lane?.value
    }
}
