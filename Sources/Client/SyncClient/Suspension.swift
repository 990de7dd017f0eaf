import Foundation
import SyncEngine
import SyncStore
import Synchronization

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

// iOS ends an app that it has suspended while a file of an app group is locked (0xdead10cc).
extension SyncServer {
    /// Stops using the store, and releases its lock, until ``resume()``. Call it before the system suspends the app;
    /// ``followAppLifecycle()`` does.
    ///
    /// Returns when no change is being stored. Until ``resume()``, calls that change the store throw `suspended`.
    /// Transfers and callbacks in progress continue; their results take effect on ``resume()``, and are lost if the
    /// process ends before: then the next process repeats what is missing. Does nothing if the instance is suspended or
    /// closed.
    public func suspend() { driver.suspend() }

    /// Continues after ``suspend()``; does nothing otherwise. Call it when the app returns to the foreground, and before
    /// any work in the background.
    ///
    /// If another process has changed the store meanwhile, reads it again: an active sync ends with `storeInUse`.
    /// - Throws: `storeInUse` if another process has the store, then the instance remains suspended; `closed`;
    ///   `storeError`.
    public func resume() throws(SyncError) { try driver.resume() }
}

/// What a driver keeps while it does not use the store.
struct Suspension {
    /// Identifies the last transaction of another connection; nil if it could not be read.
    let stamp: Int64?
    /// Events that wait, oldest first.
    var events: [EngineEvent] = []
}

extension SyncDriver {
    func suspend() {
        state.withLock { state in
            guard !state.isClosed, state.suspension == nil else { return }
            state.suspension = Suspension(stamp: try? database.stampOfOthers())
            lock.release()
        }
        suspensions.send(isSuspended)
    }

    var isSuspended: Bool { state.withLock { $0.suspension != nil } }

    func resume() throws(SyncError) {
        defer { suspensions.send(isSuspended) }
        try state.withLock { state throws(SyncError) in
            guard !state.isClosed else { throw SyncError(.closed) }
            guard let suspension = state.suspension else { return }
            try lock.acquire()
            state.suspension = nil
            guard let stamp = suspension.stamp, stamp == (try? database.stampOfOthers()) else {
                return try readAgain(&state)
            }
            for event in suspension.events { handle(event, &state) }
            // A delivery that the app refused in the meantime may have moved files.
            try change(&state) { machine throws(SyncError) in
                if !machine.isSyncing { machine.forgetMissingFiles { !self.files.exists($0) } }
                return ((), [])
            }
        }
    }
}

#if canImport(UIKit) && !os(watchOS)
    extension SyncServer {
        /// Suspends this instance before the system suspends the app, and resumes it when the app returns to the
        /// foreground, for as long as the instance exists. Call it once.
        ///
        /// When the app enters the background, a sync may continue for as long as the system permits. On return, pending
        /// uploads are sent (``resumePendingUploads()``). If ``resume()`` fails, ``errors`` reports the reason; call it
        /// again later.
        ///
        /// Not for app extensions, and not sufficient for work in the background: call ``resume()`` before it and
        /// ``suspend()`` after it.
        @MainActor public func followAppLifecycle() {
            let turns = Turns()
            let center = NotificationCenter.default
            _ = center.addObserver(forName: UIApplication.didEnterBackgroundNotification, object: nil, queue: nil) {
                [weak self] _ in
                let turn = turns.next()
                self?.suspendWhenIdle { turns.perform($0, in: turn) }
            }
            _ = center.addObserver(forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil) {
                [weak self] _ in
                _ = turns.next()
                guard let self else { return }
                do throws(SyncError) {
                    try resume()
                    resumePendingUploads()
                } catch { driver.state.withLock { self.driver.report(error, &$0) } }
            }
        }

        /// Suspends when no sync is active, or when the system is about to suspend the app.
        private func suspendWhenIdle(_ ifStillThere: @escaping @Sendable (() -> Void) -> Void) {
            let isIdle = DispatchSemaphore(value: 0)
            let statuses = driver.statuses.stream(.bufferingNewest(1), first: nil)
            // The system calls the block a second time if the first call lasts too long, or only once if it grants no
            // time (Apple's documentation of ProcessInfo).
            ProcessInfo.processInfo.performExpiringActivity(withReason: "SyncServer") { [weak self] isExpired in
                if isExpired {
                    isIdle.signal()
                } else {
                    let waiting = Task { [weak self] in
                        if self?.isSyncing == true {
                            for await _ in statuses where self?.isSyncing != true { break }
                        }
                        isIdle.signal()
                    }
                    isIdle.wait()
                    waiting.cancel()
                }
                ifStillThere { self?.suspend() }
            }
        }
    }

    /// Counts the app's changes between foreground and background, so that a late suspension does nothing.
    private final class Turns: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }

        func perform(_ body: () -> Void, in turn: Int) {
            count.withLock { if $0 == turn { body() } }
        }
    }
#endif
