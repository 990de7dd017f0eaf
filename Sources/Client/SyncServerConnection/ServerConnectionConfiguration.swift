public import Foundation
public import Logging
public import SyncProtocol

/// The settings of a ``ServerConnection``.
public struct ServerConnectionConfiguration: Sendable {
    /// The server's URL; `https` except in tests. May have a path prefix.
    public var baseURL: URL
    /// The UUID of this installation of the app.
    public var deviceUUID: DeviceUUID
    /// The minimum server version that the app requires; nil: any.
    public var minimumServerVersion: ServerVersion?
    /// The URL of a text in which the operator explains why the server is closed; fetched when a 503 arrives.
    public var maintenanceMessageURL: URL?
    /// The policy for retrying requests.
    public var retryPolicy: RetryPolicy
    /// Maximum time without progress, for all requests; a commit has more time for each deletion.
    public var idleTimeout: Duration
    /// The logger for requests, which receives endpoints, statuses, durations and the server's request ids; never
    /// parameters, headers or bodies.
    public var logger: Logger
    /// Whether files of 2 MiB and more are sent directly to the owner's storage, if server and storage permit that.
    public var directUploads = false
    /// Whether files are read directly from the owner's storage, if server and storage permit that.
    public var directDownloads = false
    /// The device's information about its identity; read before each request, must not block.
    public var identity: @Sendable () -> KnownIdentity
    /// Called for each event, in order, on the connection's executor: it must not block.
    public var observer: @Sendable (ConnectionEvent) -> Void

    /// Creates a configuration.
    public init(
        baseURL: URL, deviceUUID: DeviceUUID, minimumServerVersion: ServerVersion? = nil,
        maintenanceMessageURL: URL? = nil, retryPolicy: RetryPolicy = RetryPolicy(),
        idleTimeout: Duration = .seconds(60),
        logger: Logger = Logger(label: "SyncServerConnection", factory: { _ in SwiftLogNoOpLogHandler() }),
        identity: @escaping @Sendable () -> KnownIdentity = { KnownIdentity() },
        observer: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        self.baseURL = baseURL
        self.deviceUUID = deviceUUID
        self.minimumServerVersion = minimumServerVersion
        self.maintenanceMessageURL = maintenanceMessageURL
        self.retryPolicy = retryPolicy
        self.idleTimeout = idleTimeout
        self.logger = logger
        self.identity = identity
        self.observer = observer
    }
}

/// The clock and the random source of a ``ServerConnection``; tests supply their own.
public struct ConnectionEnvironment: Sendable {
    /// Waits; throws `CancellationError` if the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// A random number from 0 to 1.
    public var randomFraction: @Sendable () -> Double
    /// The current date.
    public var now: @Sendable () -> Date

    /// Creates an environment.
    public init(
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        randomFraction: @escaping @Sendable () -> Double, now: @escaping @Sendable () -> Date
    ) {
        self.sleep = sleep
        self.randomFraction = randomFraction
        self.now = now
    }

    /// The system's clock and random source.
    public static let system = ConnectionEnvironment(
        sleep: { try await Task.sleep(for: $0) }, randomFraction: { .random(in: 0...1) }, now: { Date() })
}

/// Whether the server has the extensions that are missing from SyncServerII: `commitId`, batches, `since` and entity
/// tags of the index, metadata in a body, and later endpoints.
///
/// All of them were introduced in one release, which two signs identify: its replies to Index have an `etag`, and its
/// errors have the header `syncserver-error-code`. A server without extensions ignores their parameters, so they may
/// always be sent.
public enum ServerExtensions: Sendable, Hashable {
    /// No reply has shown it yet.
    case unknown
    /// The server is of an older generation, without extensions.
    case absent
    /// The server has extensions.
    case present
}

/// Events that a ``ServerConnection`` reports in addition to results and errors.
public enum ConnectionEvent: Sendable, Hashable {
    /// The server refused the credentials, and new ones are being requested.
    case refreshingCredentials
    /// The server accepts none of the user's credentials. Reported once, until new ones are available.
    case signInRequired
    /// The server is temporarily closed (503), with the text at the maintenance message URL, if any.
    case serverUnavailable(message: String?)
    /// The minimum version of the iOS app that the operator still supports. Reported once for each version.
    case minimumIOSClientAppVersion(ServerVersion)
    /// It is now known whether the server has extensions.
    case extensions(ServerExtensions)
    /// A transfer of a file has failed, for example because the server is busy (429), and will be repeated: fewer
    /// concurrent transfers may help.
    case transferRepeated
}
