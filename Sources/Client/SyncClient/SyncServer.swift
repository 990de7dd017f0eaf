public import Foundation
import Synchronization

/// Keeps files of a group of people equal on all their devices.
///
/// An app queues changes (``uploadImmutable(localFile:withAttributes:)``, ``delete(filesWithUUIDs:)`` …), which works
/// without a network and survives the process, and asks for syncs. What others changed comes to its
/// ``SyncServerDelegate``. One instance works with a store at a time; other processes queue uploads in its ``UploadInbox``.
///
/// All members may be called from any thread.
public final class SyncServer: Sendable {
    let driver: SyncDriver
    let configuration: Configuration
    /// Nil in a simulation, which has no accounts.
    package let connection: ServerConnection?
    let credentialProvider: (any CredentialProvider)?
    private let launchTask = Mutex<Task<Void, Never>?>(nil)

    /// Opens the store, repairs what the last process left behind, and sends what it could not send any more (see
    /// ``Configuration/syncsPendingUploadsAtLaunch``).
    /// - Parameters:
    ///   - delegate: Held weakly. Without one, downloads and conflicts wait.
    ///   - executor: Carries out the requests; nil: `URLSession` does, with ``Configuration/maximumTransfers``. One with a
    ///     background session, where the system has such, goes on without the process; what it brings then goes to
    ///     ``take(_:)``.
    /// - Throws: `storeInUse` if another process or instance has the store; `storeError`.
    public convenience init(
        configuration: Configuration, credentialProvider: any CredentialProvider,
        delegate: (any SyncServerDelegate)? = nil, executor: (any HTTPExecutor)? = nil
    ) throws(SyncError) {
        try self.init(
            configuration, credentialProvider, delegate, .system,
            executor: executor ?? URLSessionExecutor(maximumTransfers: configuration.maximumTransfers))
    }

    /// The same with an environment and an HTTP stack of the caller's.
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
        connectionConfiguration.logger = configuration.logger
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
                try driver?.bind(user.userID, type)
            })
        resumeAfterLaunch()
    }

    /// A client whose requests go to `performer`, such as a server in memory. It has no users: members that concern them
    /// throw `notSupported`.
    /// - Parameter accountStorage: Of the user; nil for one without storage.
    package init(
        _ configuration: Configuration, _ delegate: (any SyncServerDelegate)?, _ environment: SyncEnvironment,
        accountStorage: CloudStorageType?, capabilities: ServerCapabilities, performer: any RequestPerformer
    ) throws(SyncError) {
        driver = try SyncDriver(configuration, environment)
        self.configuration = configuration
        connection = nil
        credentialProvider = nil
        driver.delegate = delegate
        driver.use(accountStorage: accountStorage, capabilities)
        driver.start(performer)
        resumeAfterLaunch()
    }

    deinit {
        launchTask.withLock { $0?.cancel() }
        driver.abandon()
    }

    private func resumeAfterLaunch() {
        driver.takeInbox()
        guard configuration.syncsPendingUploadsAtLaunch, uploadsPending else { return }
        let (driver, grace) = (driver, configuration.launchGrace)
        let task = Task {
            do { try await driver.environment.sleep(grace) } catch { return }
            driver.resumePendingUploads()
        }
        launchTask.withLock { $0 = task }
    }

    /// Receives what the library brings; held weakly.
    public var delegate: (any SyncServerDelegate)? {
        get { driver.delegate }
        set { driver.delegate = newValue }
    }

    /// This device, as the server knows it.
    public var deviceUUID: DeviceUUID { driver.deviceUUID }

    /// Ends the library's work and gives the store free. What is under way counts as interrupted, and goes on with the
    /// next instance. All calls throw `closed` from now on.
    public func close() async {
        launchTask.withLock { $0?.cancel() }
        await driver.close()
    }

    /// Where a location leads on this device; nil if there is no such base.
    public func url(of location: LocalFileLocation) -> URL? { driver.files.url(of: location) }

    /// The location of a file, as queue calls take it.
    public func location(of url: URL) -> LocalFileLocation { driver.files.location(of: url) }

    // MARK: The one of the process

    private static let shared = Mutex<SyncServer?>(nil)

    /// Makes an instance that of the whole process; see ``session``.
    public static func bootstrap(_ server: SyncServer) {
        shared.withLock { $0 = server }
    }

    /// The instance that was given to ``bootstrap(_:)``, which must have been called.
    public static var session: SyncServer {
        guard let server = shared.withLock({ $0 }) else {
            preconditionFailure("SyncServer.bootstrap(_:) comes before SyncServer.session")
        }
        return server
    }
}
