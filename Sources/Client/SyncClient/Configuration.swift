public import Foundation
public import Logging
public import SyncProtocol
public import SyncServerConnection

extension SyncServer {
    /// The settings of a ``SyncServer``: its server, its store and its behavior.
    public struct Configuration: Sendable {
        /// The server's URL; `https` except in tests. May have a path prefix.
        public var serverURL: URL
        /// The store's folder, created if missing, for the database and the files that the library owns. Only one
        /// process may use it at a time.
        public var storeFolder: URL
        /// The folder in the user's storage, for accounts that need one (Google).
        public var cloudFolderName: String?
        /// The minimum server version that the app requires; nil: any.
        public var minimumServerVersion: ServerVersion?
        /// The URL of a text in which the operator explains why the server is down; fetched when a 503 arrives.
        public var failoverMessageURL: URL?
        /// The UUID that identifies this device to the server. Nil: the store generates one. An app that keeps the UUID
        /// elsewhere, such as in a keychain, remains the same device after a reinstallation.
        public var deviceUUID: DeviceUUID?
        /// The store of the device's grant: a secret that proves, without the account, that the device belongs to the
        /// user. Nil: a file in the store's folder that only its owner can read.
        public var deviceGrantStore: (any DeviceGrantStore)?
        /// Whether this device also re-uploads the files of other people who have switched accounts. Off by default,
        /// since that uses this user's network for them.
        public var reuploadsForOthers = false
        /// The download policy of groups that are new to this device, until the app calls
        /// ``SyncServer/setDownloadPolicy(_:of:)``. Changing the value does not affect groups that the device knows.
        public var downloadPolicy = DownloadPolicy.automatic
        /// How conflicts are resolved.
        public var conflictResolver = ConflictResolver.delegate
        /// The folders of location bases, in addition to the system's own.
        public var baseFolders: [LocalFileLocation.Base: URL] = [:]
        /// Whether the library sends queues that were closed before the last process ended, and continues a switch of
        /// accounts, without a request by the app.
        public var syncsPendingUploadsAtLaunch = true
        /// The delay of these uploads after launch, to allow for a sign-in without user interaction.
        public var launchGrace = Duration.seconds(2)
        /// The maximum number of concurrent uploads, and of concurrent downloads, 1 to 32; other values are clamped. Up
        /// to this maximum, the library finds the number by measuring: more transfers hide the latency of a distant
        /// provider, and fewer are sufficient where the line is the limit. The devices of a user share the 32 transfers
        /// that a server permits. An executor supplied by the app has its own limit.
        public var maximumTransfers = 24
        /// The networks that the library may use, on Apple's platforms. Without a permitted one, syncs fail with
        /// `networkError`, and changes wait. An executor supplied by the app has its own policy.
        public var network = NetworkPolicy.any
        /// The maximum total size in bytes of the files of a queue that is sent as a batch of the protocol. A batch
        /// needs no commit request: the server commits it when its last change arrives. The limit bounds the cost of a
        /// refused change, after which all other changes are sent again. Nil: every queue needs a commit request.
        public var maximumBatchBytes: Int64? = 33_554_432
        /// Whether files of 2 MiB and more are sent directly to the owner's storage, not through the server, if server
        /// and storage permit that. The provider then sees this device's address. If a direct upload fails for any
        /// reason, the bytes are sent through the server.
        public var directUploads = false
        /// Whether files are downloaded directly from the owner's storage, not through the server, if server and
        /// storage permit that. The provider then sees this device's address. The library verifies the bytes. If a
        /// direct download fails for any reason, the bytes are downloaded through the server.
        public var directDownloads = false
        /// Whether ``SyncServer/liveChanges(renewedAfter:)`` connects to the server, and
        /// ``SyncServer/syncAutomatically(every:)`` with it, unless the app registers for push notifications. If not, the
        /// streams are empty.
        public var liveChanges = true
        /// The policy for retrying requests.
        public var retryPolicy = RetryPolicy()
        /// The library's logger; log entries contain no file names, tokens or contents.
        public var logger = Logger(label: "SyncClient", factory: { _ in SwiftLogNoOpLogHandler() })

        /// Creates a configuration; the other properties can be set afterwards.
        public init(serverURL: URL, storeFolder: URL, cloudFolderName: String? = nil) {
            self.serverURL = serverURL
            self.storeFolder = storeFolder
            self.cloudFolderName = cloudFolderName
        }
    }
}

/// The clock and the random source of a ``SyncServer``; tests supply their own.
package struct SyncEnvironment: Sendable {
    /// The current date.
    package var now: @Sendable () -> Date
    /// Waits; throws `CancellationError` if the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// A random number of seconds within a range.
    package var randomSeconds: @Sendable (ClosedRange<Int>) -> Int
    /// A new UUID, as text.
    package var makeUUID: @Sendable () -> String

    /// Creates an environment.
    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
        randomSeconds: @escaping @Sendable (ClosedRange<Int>) -> Int, makeUUID: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.sleep = sleep
        self.randomSeconds = randomSeconds
        self.makeUUID = makeUUID
    }

    /// The system's clock and random source.
    package static let system = SyncEnvironment(
        now: { Date() }, sleep: { try await Task.sleep(for: $0) }, randomSeconds: { Int.random(in: $0) },
        makeUUID: { UUID().uuidString })
}

/// Stores a device's grant, with which a user who can no longer use an account proves to be the same person.
///
/// Must be readable without user interaction, even in the background, and keep the grant when the user signs out: on
/// Apple's platforms `KeychainDeviceGrantStore`, elsewhere ``FileDeviceGrantStore``.
public protocol DeviceGrantStore: Sendable {
    /// The stored grant, or nil.
    func load() throws -> DeviceGrant?
    /// Replaces the stored grant; with nil, removes it.
    func save(_ grant: DeviceGrant?) throws
}

/// Stores the grant in a file that only its owner can read (mode 0600).
public struct FileDeviceGrantStore: DeviceGrantStore {
    private let file: URL

    /// - Parameter file: Its folder must exist.
    public init(file: URL) { self.file = file }

    public func load() throws -> DeviceGrant? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return DeviceGrant(String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }

    public func save(_ grant: DeviceGrant?) throws {
        guard let grant else {
            if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
            return
        }
        // Others must not be able to read the file at any moment, even before its mode is set.
        let temporary = file.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: temporary)
        guard
            FileManager.default.createFile(
                atPath: temporary.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        let handle = try FileHandle(forWritingTo: temporary)
        defer { try? handle.close() }
        try handle.write(contentsOf: Data(grant.secret.utf8))
        try handle.synchronize()
        guard unsafe rename(temporary.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}

#if canImport(Security)
    /// Stores the grant in the keychain of this device, readable in the background once the device has been unlocked
    /// after its start.
    ///
    /// The system keeps it when the app is deleted. Together with ``SyncServer/Configuration/deviceUUID`` from the
    /// keychain, a reinstalled app is the same device.
    public struct KeychainDeviceGrantStore: DeviceGrantStore {
        private let item: KeychainItem

        /// - Parameters:
        ///   - service: such as the app's bundle identifier; with `account` identifies the item.
        ///   - account: distinguishes several stores of one app.
        ///   - accessGroup: the keychain access group or app group that shares the grant; nil: the app's first group.
        public init(service: String, account: String = "device-grant", accessGroup: String? = nil) {
            item = KeychainItem(service: service, account: account, accessGroup: accessGroup)
        }

        /// - Throws: `KeychainError`.
        public func load() throws -> DeviceGrant? {
            try item.load().flatMap { DeviceGrant(String(decoding: $0, as: UTF8.self)) }
        }

        /// - Throws: `KeychainError`.
        public func save(_ grant: DeviceGrant?) throws {
            guard let grant else { return try item.remove() }
            try item.save(Data(grant.secret.utf8))
        }
    }
#endif
