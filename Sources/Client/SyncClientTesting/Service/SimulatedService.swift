public import Foundation
internal import SyncClient
internal import SyncEngine
public import SyncProtocol
internal import Synchronization

/// An in-memory server and a network whose behavior a seed determines, for tests of apps that use `SyncClient`.
///
/// Time is virtual: there are no real waits. A test adds phones, calls their apps, and lets the service ``run(_:)``; at
/// the end, ``settle()`` stops all faults and brings every phone up to date. Then all apps must show the same, for any
/// seed. The same seed produces the same faults, as long as the app itself is deterministic.
public final class SimulatedService: Sendable {
    /// Kinds of faults that occur at times determined by the seed.
    public struct Faults: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int

        /// Creates a set of faults from their bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Requests and replies are lost or arrive twice, or the server is closed or broken.
        public static let network = Self(rawValue: 1)
        /// Processes of apps end while a request is in progress, and are relaunched.
        public static let deaths = Self(rawValue: 2)
        /// Deliveries are repeated although the app accepted them, as if the process had ended before acknowledging
        /// them.
        public static let redeliveries = Self(rawValue: 4)
        /// All faults of the network and of the phones.
        public static let all: Self = [.network, .deaths, .redeliveries]
        /// Members are demoted to readers for a while.
        public static let demotions = Self(rawValue: 8)
        /// Storages are full, revoked or unreachable for a while.
        public static let storages = Self(rawValue: 16)
        /// Some contents are refused for a while as malware, as too large, or because of their type;
        /// ``SimulatedService/settle()`` retries what was set aside, as a user would.
        public static let refusedFiles = Self(rawValue: 32)
        /// The server refuses changes, or everything, for a while.
        public static let closures = Self(rawValue: 64)
        /// The server is restored from backups: an app that does not supply contents to upload again loses them.
        public static let restorations = Self(rawValue: 128)
        /// Refusals of all kinds, without restorations.
        public static let refusals: Self = [.demotions, .storages, .refusedFiles, .closures]
        /// None.
        public static let none: Self = []
    }

    /// A file on the server.
    public struct ServerFile: Sendable, Equatable {
        /// The contents of the last version.
        public let contents: Data
        /// The text, or nil.
        public let appMetaData: String?
        /// The version of the contents.
        public let fileVersion: FileVersion
        /// Whether it is deleted.
        public let isDeleted: Bool
    }

    /// Why a run was aborted.
    public enum Failure: Error, Sendable, Hashable {
        /// An app does not return from a call, or waits for a sync in a method of its delegate.
        case appDoesNotReturn
        /// Syncs never stop.
        case neverAtRest
    }

    /// The sharing group that all users are members of, as admins, unless the test states otherwise.
    public let sharingGroupUUID: SharingGroupUUID
    /// Determines the faults and their times.
    public let seed: UInt64
    let scheduler: SimulatedScheduler
    private let phones = Mutex<[any AnySimulatedPhone]>([])

    /// - Parameters:
    ///   - seed: Determines the faults and their times.
    ///   - faults: The possible faults.
    public init(seed: UInt64, faults: Faults = .all) {
        guard let group = SharingGroupUUID("00000000-0000-4000-A000-000000000000") else {
            preconditionFailure("the text is a UUID")
        }
        sharingGroupUUID = group
        self.seed = seed
        scheduler = SimulatedScheduler(seed: seed, faults: faults, group: group)
    }

    /// Adds a phone and launches its app, which knows the user's sharing groups from the start.
    /// - Parameters:
    ///   - user: The phone's user; different numbers are different people (``person(_:)``).
    ///   - launch: Creates the app: at once, and again after each death of its process. The app creates its client with
    ///     ``SimulatedLaunch/makeClient(configure:)``, becomes its delegate, and loads its data from the folder.
    /// - Returns: The phone, for as long as the test needs it.
    public func addPhone<App: AnyObject & Sendable>(
        user: Int = 1, launch: @escaping @Sendable (SimulatedLaunch) throws -> App
    ) async throws -> SimulatedPhone<App> {
        let index = phones.withLock { $0.count }
        scheduler.addMember(UserID(Int64(user)))
        let phone = try SimulatedPhone(index: index, user: UserID(Int64(user)), scheduler, launch: launch)
        phones.withLock { $0.append(phone) }
        try await phone.start()
        try await scheduler.withoutFaults {
            try phone.client?.sync()
            try await run()
        }
        return phone
    }

    /// Runs until everything in progress, and everything that follows from it, has completed.
    /// - Parameter body: Runs at the same time; may wait for syncs.
    /// - Throws: Errors of `body`; ``Failure``.
    public func run(_ body: @escaping @Sendable () async throws -> Void = {}) async throws {
        let isDone = Mutex(false)
        let work = Task {
            defer { isDone.withLock { $0 = true } }
            try await body()
        }
        var steps = 0
        while true {
            try await waitUntilQuiet { isDone.withLock { $0 } }
            try await bury()
            guard scheduler.performNext() else {
                guard isDone.withLock({ $0 }) else { continue }
                break
            }
            steps += 1
            if steps > 200_000 { throw Failure.neverAtRest }
        }
        try await work.value
    }

    /// Stops all faults, and refusals that the seed has chosen, then syncs every phone until none receives anything
    /// new. Situations that the test has stated remain, and so do changes that wait because of them.
    /// - Throws: ``Failure``; it is ``Failure/neverAtRest`` even if the test has left the server closed. Errors of
    ///   launches.
    public func settle() async throws {
        let retries = scheduler.faults.contains(.refusedFiles)
        scheduler.world { $0.settle() }
        try await scheduler.withoutFaults {
            for _ in 0..<16 {
                let before = scheduler.masterVersions
                for phone in allPhones {
                    try await phone.start()
                    if retries { retryUploads(of: phone) }
                    try? phone.client?.sync()
                    try await run()
                    for group in phone.client?.sharingGroups ?? [] {
                        try? phone.client?.sync(
                            sharingGroupUUID: group.sharingGroupUUID, reAttemptGoneDownloads: true)
                    }
                    try await run()
                }
                if before == scheduler.masterVersions, allPhones.allSatisfy(isAtRest) { return }
            }
            throw Failure.neverAtRest
        }
    }

    var allPhones: [any AnySimulatedPhone] { phones.withLock { $0 } }

    private func isAtRest(_ phone: any AnySimulatedPhone) -> Bool {
        guard let pending = phone.client?.pendingReport() else { return false }
        return pending.downloads.isEmpty && pending.changes.allSatisfy { $0.isBlocked || !$0.isClosed }
    }

    private func retryUploads(of phone: any AnySimulatedPhone) {
        for change in phone.client?.pendingReport().changes ?? [] where change.isDead {
            if let file = change.fileUUID { try? phone.client?.retryUpload(forFileUUID: file) }
        }
    }

    /// A number from 0 up to, not including, `bound`, determined by the seed, for users' decisions in a test.
    public func random(below bound: Int) -> Int { scheduler.random(below: bound) }

    /// The files of ``sharingGroupUUID`` on the server, including deleted ones.
    public var files: [FileUUID: ServerFile] { files(inSharingGroup: sharingGroupUUID) }

    /// The files of a group on the server, including deleted ones.
    public func files(inSharingGroup group: SharingGroupUUID) -> [FileUUID: ServerFile] { scheduler.files(in: group) }

    // MARK: Quiet

    /// Waits, in real time, until nothing is pending except what the scheduler controls.
    private func waitUntilQuiet(_ bodyIsDone: () -> Bool) async throws {
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(60)
        while true {
            var isQuiet = true
            for phone in allPhones where !scheduler.isWaited(for: phone.index) {
                guard let client = phone.client else { continue }
                if !client.isSyncing { await client.callbacksDelivered() }
                // The app may have requested a sync in a callback.
                if client.isSyncing, !scheduler.isWaited(for: phone.index) { isQuiet = false }
            }
            // A body that does not wait for the scheduler is still about to start something, or to end.
            if isQuiet, bodyIsDone() || scheduler.isWaitedForAnything { return }
            if clock.now > deadline { throw Failure.appDoesNotReturn }
            await Task.yield()
        }
    }

    /// Ends the processes that must die now, and relaunches their apps.
    private func bury() async throws {
        for phone in allPhones where scheduler.takeDeath(of: phone.index) {
            await phone.end()
            try await phone.start()
        }
    }
}
