import Dispatch
import Foundation
import SyncClient
import SyncDirectory
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs a directory's rounds: after local changes, periodically for changes by others, and with back-off if the server
/// is unreachable.
struct WatchLoop {
    private let directory: OpenDirectory
    private let interval: Duration
    private let asJSON: Bool
    private let isQuiet: Bool
    /// Longest pause after failures.
    private static let longestPause = Duration.seconds(60)
    /// Longest pause that a server can request.
    private static let longestWantedPause = Duration.seconds(600)
    /// How many intervals pass without a signal until the library finds out whether one was lost, between two attempts to
    /// send what the server has refused, and between two rounds that send nothing: replaced files are kept for a while.
    private static let liveIntervals = 6
    /// How often to check whether the server now reports changes.
    private static let nextAttempt = Duration.seconds(3_600)
    /// Delay for files that were just written to settle.
    private static let settling = Duration.milliseconds(150)

    init(_ directory: OpenDirectory, interval: Duration, asJSON: Bool, isQuiet: Bool) {
        self.directory = directory
        self.interval = interval
        self.asJSON = asJSON
        self.isQuiet = isQuiet
    }

    private struct Event: Encodable {
        var event: String
        var sent: [DirectorySynchronizer.Change]?
        var received: [DirectorySynchronizer.Change]?
        var conflicts: [DirectoryConflict]?
        var problems: [DirectorySynchronizer.Change]?
        var restored: [DirectorySynchronizer.Change]?
        var serverWasRestored: Bool?
        var awaited: [DirectorySynchronizer.Change]?
        var changing: [DirectorySynchronizer.Change]?
        var skipped: [DirectorySynchronizer.Change]?
        var heldDeletions: [String]?
        var message: String?
        var seconds: Double?
    }

    /// Runs until the process is asked to end.
    /// - Throws: errors that only a person can fix.
    func run() async throws {
        let alarm = Alarm()
        let server = directory.server
        let interruption = Interruption {
            alarm.ring()
            // Transfers in progress are interrupted, and resume at the next start.
            Task { await server.close() }
        }
        let watcher = FolderWatcher { alarm.ring() }
        let live = LiveState()
        let listening = Task {
            repeat {
                for await change in server.liveChanges(renewedAfter: interval * Self.liveIntervals) {
                    live.note(change)
                    alarm.ring()
                }
                live.note(.interrupted)
                alarm.ring()
            } while (try? await Task.sleep(for: Self.nextAttempt)) != nil
        }
        defer { listening.cancel() }
        var (failures, postponements) = (0, 0)
        var isIdle = false
        var told = Told()
        var nextQuestion = ContinuousClock.now
        while !interruption.isRequested {
            var pause = interval
            do {
                watcher?.watch(await directory.synchronizer.folders)
                // A file that changes constantly is scanned often, but the server need not be polled as often.
                let hasNews = postponements == 0 && live.takeNews()
                let asksServer = hasNews || failures > 0 || ContinuousClock.now >= nextQuestion
                let round = try await directory.synchronizer.perform(asksServer: asksServer)
                if asksServer {
                    postponements = round.isPostponed ? postponements + 1 : 0
                    let wanted = postponements > 0 ? pauseAfter(postponements, round.retryAfter) : .zero
                    nextQuestion = .now + max(pauseWithoutSignal(after: round, live.isListening), wanted)
                }
                if failures > 0 { say(Event(event: "online"), "The server is reachable again.") }
                failures = 0
                let wasBusy = tell(round, &told)
                pause = round.hasMore ? Self.settling : max(.zero, ContinuousClock.now.duration(to: nextQuestion))
                pause = min(pause, watcher == nil ? interval : interval * Self.liveIntervals)
                if !round.hasMore, wasBusy || !isIdle { say(Event(event: "idle"), nil) }
                isIdle = !round.hasMore
            } catch {
                if interruption.isRequested { break }
                guard Failure.isTemporary(error) else { throw error }
                failures += 1
                isIdle = false
                pause = pauseAfter(failures, (error as? SyncError)?.retryAfter)
                let message = Failure(error)?.message ?? "\(error)"
                let seconds = pause / .seconds(1)
                say(
                    Event(event: "offline", message: message, seconds: seconds),
                    failures == 1 ? "\(message); trying again" : nil)
            }
            if interruption.isRequested { break }
            await alarm.wait(upTo: pause)
            // Changes rarely come alone, and a constantly written file must not keep a core busy.
            try await Task.sleep(for: Self.settling)
        }
        say(Event(event: "end"), nil)
    }

    /// How long to wait for the next poll if no signal arrives.
    private func pauseWithoutSignal(after round: DirectorySynchronizer.Round, _ isListening: Bool) -> Duration {
        guard isListening, !round.isPostponed else { return interval }
        // The library reports lost signals. Only refused changes need another attempt.
        return round.problems.isEmpty && round.unreachable.isEmpty ? .seconds(86_400) : interval * Self.liveIntervals
    }

    /// Exponential back-off starting at one second, with jitter so that devices differ; at least the delay that the
    /// server requests, up to ``longestWantedPause``.
    private func pauseAfter(_ failures: Int, _ wanted: Duration?) -> Duration {
        let limit = min(Self.longestPause / .seconds(1), Double(1 << min(failures - 1, 10)))
        return max(.seconds(limit * Double.random(in: 0.5...1)), min(wanted ?? .zero, Self.longestWantedPause))
    }

    /// Lasting conditions, which are reported when they begin.
    private struct Told {
        var problems: [DirectorySynchronizer.Change] = []
        var changing: [DirectorySynchronizer.Change] = []
        var skipped: [DirectorySynchronizer.Change] = []
        var heldDeletions: [String] = []
    }

    private func tell(_ round: DirectorySynchronizer.Round, _ told: inout Told) -> Bool {
        let before = told
        told = Told(
            problems: round.problems, changing: round.changing, skipped: RoundReport.changes(round.skipped),
            heldDeletions: round.heldDeletions)
        tellHeld(before.heldDeletions, told.heldDeletions)
        let problems = told.problems.filter { !before.problems.contains($0) } + round.unreachable
        let changing = told.changing.filter { !before.changing.contains($0) }
        let skipped = told.skipped.filter { !before.skipped.contains($0) }
        guard
            !round.sent.isEmpty || !round.received.isEmpty || !round.conflicts.isEmpty || !problems.isEmpty
                || !round.restored.isEmpty || round.serverWasRestored || !round.awaited.isEmpty || !changing.isEmpty
                || !skipped.isEmpty
        else { return false }
        if asJSON {
            say(
                Event(
                    event: "round", sent: round.sent, received: round.received, conflicts: round.conflicts,
                    problems: problems, restored: round.restored, serverWasRestored: round.serverWasRestored,
                    awaited: round.awaited, changing: changing, skipped: skipped), nil)
        } else {
            var report = RoundReport()
            if !isQuiet { report.tell(round) }
            (report.problems, report.changing, report.skipped) = (problems, changing, skipped)
            for line in isQuiet ? report.problemLines : report.complaints { Output.note(line) }
        }
        return true
    }

    private func tellHeld(_ before: [String], _ now: [String]) {
        guard before != now else { return }
        let event = Event(event: "deletionsHeld", heldDeletions: now)
        if now.isEmpty {
            say(event, "Deletions are no longer held back.")
        } else if asJSON || before.isEmpty {
            say(event, RoundReport.held(now))
        }
    }

    private func say(_ event: Event, _ text: String?) {
        if asJSON { Output.write(event, "", asJSON: true) } else if let text { Output.note(text) }
    }
}

/// The server's signals about changes.
private final class LiveState: Sendable {
    private let state = Mutex((isListening: false, hasNews: false))

    /// Whether the server currently signals changes.
    var isListening: Bool { state.withLock { $0.isListening } }

    func note(_ change: LiveChange) {
        state.withLock { state in
            switch change {
            case .listening: state.isListening = true
            case .changed, .somethingChanged: state.hasNews = true
            case .interrupted: state = (isListening: false, hasNews: true)
            }
        }
    }

    /// Whether there is a reason to poll; true only once for each reason.
    func takeNews() -> Bool {
        state.withLock { state in
            defer { state.hasNews = false }
            return state.hasNews
        }
    }
}

/// Wakes one waiting task when its time is up or when ``ring()`` is called, even before the wait.
final class Alarm: Sendable {
    private struct State {
        var isRung = false
        var waiting: CheckedContinuation<Void, Never>?
        var number = 0
    }

    private let state = Mutex(State())

    /// Ends the wait, or the next one.
    func ring() {
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state.waiting = nil
            state.isRung = waiting == nil
            return waiting
        }
        waiting?.resume()
    }

    /// Waits until ``ring()`` is called, at most `limit`.
    func wait(upTo limit: Duration) async {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            timeIsUp(number)
        }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.isRung else { return true }
                state.waiting = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
        timer.cancel()
        state.withLock { $0.isRung = false }
    }

    /// Does nothing if that wait has already ended.
    private func timeIsUp(_ number: Int) {
        let waiting = state.withLock { state in
            guard state.number == number else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiting = nil }
            state.isRung = state.waiting == nil
            return state.waiting
        }
        waiting?.resume()
    }
}

/// SIGINT and SIGTERM as a request to stop; the second one exits immediately.
final class Interruption: Sendable {
    private let isWanted = Mutex(false)
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    /// - Parameter body: called at the first signal, from any thread.
    init(_ body: @escaping @Sendable () -> Void) {
        unsafe sources = [SIGINT, SIGTERM].map { number in
            _ = signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        for source in unsafe sources {
            source.setEventHandler { [self] in
                let isFirst = isWanted.withLock { isWanted in
                    defer { isWanted = true }
                    return !isWanted
                }
                if isFirst { body() } else { _Exit(130) }
            }
            source.resume()
        }
    }

    /// Whether a signal was received.
    var isRequested: Bool { isWanted.withLock { $0 } }
}
