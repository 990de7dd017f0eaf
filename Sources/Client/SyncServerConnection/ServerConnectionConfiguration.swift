public import Foundation
public import Logging
public import SyncProtocol

/// How a ``ServerConnection`` reaches its server.
public struct ServerConnectionConfiguration: Sendable {
    /// Where the server answers, `https` outside of tests; may have a path as prefix.
    public var baseURL: URL
    /// This installation of the app.
    public var deviceUUID: DeviceUUID
    /// The least version of the server that the app can do with; nil: any.
    public var minimumServerVersion: ServerVersion?
    /// Where the operator tells why the server is closed, as text; asked for when a 503 arrives.
    public var maintenanceMessageURL: URL?
    /// How requests are repeated.
    public var retryPolicy: RetryPolicy
    /// Longest time without progress, for all requests; a commit gets more for each deletion.
    public var idleTimeout: Duration
    /// Where requests are logged: endpoints, statuses, durations and the server's request ids; never parameters, headers or
    /// bodies.
    public var logger: Logger
    /// Called for each event, in order, on the connection's executor: it must not wait.
    public var observer: @Sendable (ConnectionEvent) -> Void

    /// Puts a configuration together.
    public init(
        baseURL: URL, deviceUUID: DeviceUUID, minimumServerVersion: ServerVersion? = nil,
        maintenanceMessageURL: URL? = nil, retryPolicy: RetryPolicy = RetryPolicy(),
        idleTimeout: Duration = .seconds(60),
        logger: Logger = Logger(label: "SyncServerConnection", factory: { _ in SwiftLogNoOpLogHandler() }),
        observer: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        self.baseURL = baseURL
        self.deviceUUID = deviceUUID
        self.minimumServerVersion = minimumServerVersion
        self.maintenanceMessageURL = maintenanceMessageURL
        self.retryPolicy = retryPolicy
        self.idleTimeout = idleTimeout
        self.logger = logger
        self.observer = observer
    }
}

/// Time and chance, for a ``ServerConnection``; tests have their own.
public struct ConnectionEnvironment: Sendable {
    /// Waits; throws `CancellationError` if the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// A random number from 0 to 1.
    public var randomFraction: @Sendable () -> Double
    /// The date.
    public var now: @Sendable () -> Date

    /// Collects the parts.
    public init(
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        randomFraction: @escaping @Sendable () -> Double, now: @escaping @Sendable () -> Date
    ) {
        self.sleep = sleep
        self.randomFraction = randomFraction
        self.now = now
    }

    /// The system's.
    public static let system = ConnectionEnvironment(
        sleep: { try await Task.sleep(for: $0) }, randomFraction: { .random(in: 0...1) }, now: { Date() })
}
