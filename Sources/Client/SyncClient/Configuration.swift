public import Foundation
public import Logging

extension SyncServer {
    /// How a ``SyncServer`` reaches its server, and where it keeps what it remembers.
    public struct Configuration: Sendable {
        /// Where the server answers, `https` outside of tests; may have a path as prefix.
        public var serverURL: URL
        /// The folder of the store, made if it is missing: the database, and the files that the library owns. One process
        /// at a time works with it.
        public var storeFolder: URL
        /// The folder in the user's storage, for accounts that need one (Google).
        public var cloudFolderName: String?
        /// The least version of the server that the app can do with; nil: any.
        public var minimumServerVersion: ServerVersion?
        /// Where the operator tells why the server is closed, as text; asked for when a 503 arrives.
        public var failoverMessageURL: URL?
        /// This device as the server knows it. Nil: the store makes one. An app that keeps it elsewhere, such as in a
        /// keychain, stays the same device after a new installation.
        public var deviceUUID: DeviceUUID?
        /// Who answers conflicts.
        public var conflictResolver = ConflictResolver.delegate
        /// Where the bases of locations are, beside the system's own.
        public var baseFolders: [LocalFileLocation.Base: URL] = [:]
        /// Whether what was closed before the last process ended is sent without being asked for.
        public var syncsPendingUploadsAtLaunch = true
        /// How long that waits after the launch, for a sign-in without the person.
        public var launchGrace = Duration.seconds(2)
        /// How many uploads, or downloads, may be under way at the same time, 1 to 32; others count as the nearest. More of
        /// them hide more of a provider's delay. An executor of the app's own has a limit of its own.
        public var maximumTransfers = 4
        /// How many bytes the files of one queue may have in all if it is to be sent as a batch of the protocol, which
        /// needs no request for its commit: the server commits it when its last change arrives. If one change is refused
        /// for good, all are sent once more, which this limits. Nil: each queue is committed by a request.
        public var maximumBatchBytes: Int64? = 33_554_432
        /// How requests are repeated.
        public var retryPolicy = RetryPolicy()
        /// Where the library logs: no names of files, no tokens, no contents.
        public var logger = Logger(label: "SyncClient", factory: { _ in SwiftLogNoOpLogHandler() })

        /// Puts a configuration together; the rest can be set afterwards.
        public init(serverURL: URL, storeFolder: URL, cloudFolderName: String? = nil) {
            self.serverURL = serverURL
            self.storeFolder = storeFolder
            self.cloudFolderName = cloudFolderName
        }
    }
}

/// Time and chance, for a ``SyncServer``; tests have their own.
package struct SyncEnvironment: Sendable {
    /// The date.
    package var now: @Sendable () -> Date
    /// Waits; throws `CancellationError` if the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// A random number of seconds within bounds.
    package var randomSeconds: @Sendable (ClosedRange<Int>) -> Int
    /// A new UUID, as text.
    package var makeUUID: @Sendable () -> String

    /// Collects the parts.
    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
        randomSeconds: @escaping @Sendable (ClosedRange<Int>) -> Int, makeUUID: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.sleep = sleep
        self.randomSeconds = randomSeconds
        self.makeUUID = makeUUID
    }

    /// The system's.
    package static let system = SyncEnvironment(
        now: { Date() }, sleep: { try await Task.sleep(for: $0) }, randomSeconds: { Int.random(in: $0) },
        makeUUID: { UUID().uuidString })
}
