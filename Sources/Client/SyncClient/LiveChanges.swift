import Foundation
import Synchronization

/// What an app learns about changes by others without polling.
public enum LiveChange: Sendable, Hashable {
    /// From now on, the server signals changes to this device: polling is not necessary until ``interrupted``.
    case listening
    /// A group has changed: sync it. A signal may be false.
    case changed(SharingGroupUUID, MasterVersion)
    /// Something has changed: sync every group.
    case somethingChanged
    /// The server is out of reach, or this instance is suspended: the app learns of no changes until ``listening``.
    case interrupted
}

extension SyncServer {
    /// Learns of changes by others as soon as they are committed, for as long as the stream is read.
    ///
    /// The app decides what to do with a change, usually
    /// ``sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)``; ``syncAutomatically(every:)`` does
    /// that by itself. Between ``LiveChange/listening`` and ``LiveChange/interrupted``, polling is not necessary: if a
    /// signal is lost, the library notices when it next renews its connection, and reports
    /// ``LiveChange/somethingChanged``. It renews the connection `trust` after the last signal, then at intervals that
    /// double, up to 30 minutes. So an idle device sends two requests an hour.
    ///
    /// The library connects again after a failure, and after 75 seconds without the server's heartbeat. While the instance
    /// is suspended, the device does not listen. Within 30 seconds after the credentials have changed, it connects with
    /// the new ones. See <doc:ChangesByOthers>.
    ///
    /// The stream ends if the server does not offer signals, if the user has signed out or must sign in again, if
    /// ``Configuration/liveChanges`` is false, or with the library. Then poll.
    ///
    /// Each stream is a connection to the server: an app needs one. An app with push notifications needs none.
    /// - Parameter trust: The time from the last signal to the first renewal: at least one second, at most 30 minutes.
    public func liveChanges(renewedAfter trust: Duration = .seconds(60)) -> AsyncStream<LiveChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: LiveChange.self, bufferingPolicy: .bufferingNewest(256))
        guard configuration.liveChanges, let connection, let credentialProvider else {
            continuation.finish()
            return stream
        }
        let listener = LiveListener(
            connection: connection, credentials: credentialProvider, driver: driver,
            firstTrust: min(max(trust, .seconds(1)), LiveListener.longestTrust), continuation: continuation)
        let task = Task { await listener.run() }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Syncs without further requests by the app, until the calling task is cancelled or the library is closed.
    ///
    /// Syncs the groups that others have changed: at once, when the instance is resumed, when the server reports a
    /// change (``liveChanges(renewedAfter:)``), and otherwise every `interval`. Also sends closed queues. A sync of a
    /// group closes its queue first, as every sync does. While the server sends signals, the library polls only if a
    /// sync has failed, so an idle device sends two requests an hour. Errors are reported by ``errors``.
    ///
    /// The device does not listen after ``registerPushNotificationToken(_:kind:environment:)``: then pushes report
    /// changes, and the app requests the syncs.
    ///
    /// Call it once, in a task that lives as long as the instance is used:
    /// ```swift
    /// let syncing = Task { await client.syncAutomatically() }
    /// ```
    /// - Parameter interval: The polling interval without signals, at least one second.
    public func syncAutomatically(every interval: Duration = .seconds(60)) async {
        await AutomaticSync(self, interval: max(interval, .seconds(1))).run()
    }
}

/// Requests syncs when the server reports changes, and at intervals.
private struct AutomaticSync: Sendable {
    /// How often to check whether the server now offers signals, or whether the user has signed in again.
    private static let nextAttempt: Duration = .seconds(3_600)

    private let client: SyncServer
    private let interval: Duration
    private let wishes = Wishes()

    init(_ client: SyncServer, interval: Duration) {
        self.client = client
        self.interval = interval
    }

    func run() async {
        let suspensions = client.driver.suspensions.stream(.bufferingNewest(1), first: client.driver.isSuspended)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in wishes.bell { await sync() } }
            group.addTask { await ask() }
            group.addTask { await listenWithoutPush() }
            // Ends with the library, or with the calling task.
            for await isSuspended in suspensions where !isSuspended { wishes.add(nil) }
            group.cancelAll()
        }
    }

    /// Polls every interval, unless the server sends signals and the last sync was successful.
    private func ask() async {
        while (try? await client.driver.environment.sleep(interval)) != nil {
            let isIncomplete = client.uploadsPending || client.sharingGroups.contains(where: \.syncNeeded)
            if !wishes.isListening || isIncomplete { wishes.add(nil) }
        }
    }

    /// Listens until the app registers for push notifications.
    private func listenWithoutPush() async {
        let driver = client.driver
        let registrations = driver.pushRegistrations.stream(
            .bufferingNewest(1), first: driver.hasPush.load(ordering: .relaxed) ? () : nil)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                repeat {
                    for await change in client.liveChanges() { wishes.note(change) }
                    wishes.note(.interrupted)
                } while (try? await driver.environment.sleep(Self.nextAttempt)) != nil
            }
            for await _ in registrations { break }
            group.cancelAll()
        }
    }

    private func sync() async {
        client.resumePendingUploads()
        if let groups = wishes.take() {
            for group in groups { _ = try? await client.synced(group) }
            // Unless a group is new, its version is known now.
            guard groups.contains(where: { group in !client.sharingGroups.contains { $0.sharingGroupUUID == group } })
            else { return }
        }
        guard (try? await client.synced()) != nil else { return }
        for group in client.sharingGroups where group.syncNeeded {
            _ = try? await client.synced(group.sharingGroupUUID)
        }
    }

    /// The groups to sync next; changes that arrive during a sync are combined into one further sync.
    private final class Wishes: Sendable {
        private struct State {
            /// Nil for all groups.
            var groups: Set<SharingGroupUUID>? = []
            var isListening = false
        }

        private let state = Mutex(State())
        private let ring: AsyncStream<Void>.Continuation
        /// Has an element when there are groups to sync.
        let bell: AsyncStream<Void>

        init() { (bell, ring) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

        /// Whether the server sends signals.
        var isListening: Bool { state.withLock { $0.isListening } }

        func note(_ change: LiveChange) {
            switch change {
            case .listening: state.withLock { $0.isListening = true }
            case .interrupted: state.withLock { $0.isListening = false }
            case .changed(let group, _): add(group)
            case .somethingChanged: add(nil)
            }
        }

        /// - Parameter group: Nil for all.
        func add(_ group: SharingGroupUUID?) {
            state.withLock { state in
                if let group { state.groups?.insert(group) } else { state.groups = nil }
            }
            ring.yield()
        }

        func take() -> Set<SharingGroupUUID>? {
            state.withLock { state in
                defer { state.groups = [] }
                return state.groups
            }
        }
    }
}
