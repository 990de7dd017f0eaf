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
    /// ``sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)``.
    /// Signals can be lost: sync from time to time, and when the app comes to the foreground. The stream ends if the
    /// server does not offer signals, if ``Configuration/liveChanges`` is false, or with the library; then sync from
    /// time to time. While the instance is suspended, the device does not listen.
    ///
    /// Each stream is a connection to the server: an app needs one. An app with push notifications needs none.
    public func liveChanges() -> AsyncStream<LiveChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: LiveChange.self, bufferingPolicy: .bufferingNewest(256))
        guard configuration.liveChanges, let connection else {
            continuation.finish()
            return stream
        }
        let listener = LiveListener(connection, driver, continuation)
        let task = Task { await listener.run() }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// Keeps a connection for signals about changes, and connects again when it ends.
private struct LiveListener: Sendable {
    /// The longest pause after failures, in seconds.
    private static let longestPause = 60.0
    /// The longest pause that a server can request, in seconds.
    private static let longestWanted = 600.0
    /// The range of the pause after the server has ended a stream; random, because other devices connect again at the
    /// same time.
    private static let jitter = 0.0...2.0

    let connection: ServerConnection
    let driver: SyncDriver
    let continuation: AsyncStream<LiveChange>.Continuation

    init(
        _ connection: ServerConnection, _ driver: SyncDriver, _ continuation: AsyncStream<LiveChange>.Continuation
    ) {
        self.connection = connection
        self.driver = driver
        self.continuation = continuation
    }

    func run() async {
        var known: String?
        var failures = 0
        let isListening = Listening()
        while !Task.isCancelled, await awaitResumption() {
            var pause = Double.random(in: Self.jitter)
            do throws(ServerConnectionError) {
                let before = known
                known = try await listenUnlessSuspended(after: known, isListening)
                failures = 0
                // The server has named the current state, and waits for it.
                if before != known, !isListening.value { pause = 0 }
            } catch {
                if error.serverCode == .known(.endpointUnknown) || error.status == 404 { break }
                if isListening.set(false) { continuation.yield(.interrupted) }
                // Suspended, or about to end.
                if error.code == .cancelled { continue }
                failures += 1
                pause = min(Self.longestPause, Double(1 << min(failures - 1, 6))) * Double.random(in: 0.5...1)
                if let wanted = error.retryAfter {
                    pause = max(pause, min(wanted / .seconds(1), Self.longestWanted))
                }
            }
            do { try await driver.environment.sleep(.seconds(pause)) } catch { break }
        }
        continuation.finish()
    }

    /// Listens until the server ends the connection, or the instance is suspended.
    private func listenUnlessSuspended(
        after known: String?, _ isListening: Listening
    ) async throws(ServerConnectionError) -> String? {
        let continuation = continuation
        let listening = Task { [connection] () -> Result<String?, ServerConnectionError> in
            do throws(ServerConnectionError) {
                return .success(
                    try await connection.listen(after: known) { signal in
                        switch signal {
                        case .listening: if isListening.set(true) { continuation.yield(.listening) }
                        case .signal(let signal):
                            if let change = signal.change {
                                continuation.yield(.changed(change.sharingGroupUUID, change.masterVersion))
                            } else {
                                continuation.yield(.somethingChanged)
                            }
                        }
                    })
            } catch { return .failure(error) }
        }
        let suspensions = driver.suspensions.stream(.bufferingNewest(1), first: driver.isSuspended)
        let watching = Task {
            for await isSuspended in suspensions where isSuspended { break }
            listening.cancel()
        }
        let result = await withTaskCancellationHandler {
            await listening.value
        } onCancel: {
            listening.cancel()
        }
        watching.cancel()
        return try result.get()
    }

    /// Waits until the instance is not suspended.
    /// - Returns: false if the library has ended.
    private func awaitResumption() async -> Bool {
        let suspensions = driver.suspensions.stream(.bufferingNewest(1), first: driver.isSuspended)
        for await isSuspended in suspensions where !isSuspended { return true }
        return false
    }
}

/// Whether the server currently sends signals.
private final class Listening: Sendable {
    private let state = Mutex(false)

    var value: Bool { state.withLock { $0 } }

    /// - Returns: whether that is a change.
    func set(_ isListening: Bool) -> Bool {
        state.withLock { state in
            defer { state = isListening }
            return state != isListening
        }
    }
}
