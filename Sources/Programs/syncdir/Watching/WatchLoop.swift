import Foundation
import SyncClient
import SyncDirectory

/// Runs a directory's rounds: after local changes, periodically for changes by others, and with back-off if the server
/// is unreachable.
struct WatchLoop {
    private let directory: OpenDirectory
    private let interval: Duration
    private let asJSON: Bool
    private let isQuiet: Bool
    /// Longest pause after failures.
    private static let longestPause = Duration.seconds(60)
    /// Longest pause that a server can ask for.
    private static let longestWantedPause = Duration.seconds(600)
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
        var (failures, postponements) = (0, 0)
        var isIdle = false
        var told = Told()
        var nextQuestion = ContinuousClock.now
        while !interruption.isRequested {
            var pause = interval
            do {
                watcher?.watch(await directory.synchronizer.folders)
                // A file that changes constantly is scanned often, but the server need not be asked as often.
                let asksServer = failures > 0 || ContinuousClock.now >= nextQuestion
                let round = try await directory.synchronizer.perform(asksServer: asksServer)
                if asksServer {
                    postponements = round.isPostponed ? postponements + 1 : 0
                    nextQuestion =
                        .now + max(interval, postponements > 0 ? pauseAfter(postponements, round.retryAfter) : .zero)
                }
                if failures > 0 { say(Event(event: "online"), "The server is reachable again.") }
                failures = 0
                let wasBusy = tell(round, &told)
                pause = round.hasMore ? Self.settling : max(.zero, ContinuousClock.now.duration(to: nextQuestion))
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
