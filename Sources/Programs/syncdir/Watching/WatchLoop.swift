import Foundation
import SyncClient
import SyncDirectory

/// Rounds of a directory, one after the other: after local changes, periodically for changes by others, and with
/// back-off if the server is unreachable.
struct WatchLoop {
    private let directory: OpenDirectory
    private let interval: Duration
    private let asJSON: Bool
    /// Longest pause after failures.
    private static let longestPause = Duration.seconds(60)
    /// Delay for files that were just written to settle.
    private static let settling = Duration.milliseconds(150)

    init(_ directory: OpenDirectory, interval: Duration, asJSON: Bool) {
        self.directory = directory
        self.interval = interval
        self.asJSON = asJSON
    }

    private struct Event: Encodable {
        var event: String
        var sent: [DirectorySynchronizer.Change]?
        var received: [DirectorySynchronizer.Change]?
        var conflicts: [DirectoryConflict]?
        var problems: [DirectorySynchronizer.Change]?
        var awaited: [DirectorySynchronizer.Change]?
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
        var failures = 0
        var isIdle = false
        var nextQuestion = ContinuousClock.now
        while !interruption.isRequested {
            var pause = interval
            do {
                watcher?.watch(await directory.synchronizer.folders)
                // A file that changes constantly is scanned often, but the server need not be asked as often.
                let asksServer = failures > 0 || ContinuousClock.now >= nextQuestion
                let round = try await directory.synchronizer.perform(asksServer: asksServer)
                if asksServer { nextQuestion = .now + interval }
                if failures > 0 { say(Event(event: "online"), "The server answers again.") }
                failures = 0
                let wasBusy = tell(round)
                pause = round.hasMore ? Self.settling : max(.zero, ContinuousClock.now.duration(to: nextQuestion))
                if !round.hasMore, wasBusy || !isIdle { say(Event(event: "idle"), nil) }
                isIdle = !round.hasMore
            } catch {
                if interruption.isRequested { break }
                guard Failure.isTemporary(error) else { throw error }
                failures += 1
                isIdle = false
                pause = pauseAfter(failures)
                let message = Failure(error)?.message ?? "\(error)"
                let seconds = pause / .seconds(1)
                say(
                    Event(event: "offline", message: message, seconds: seconds),
                    failures == 1 ? "\(message); trying again" : nil)
            }
            if interruption.isRequested { break }
            await alarm.wait(upTo: pause)
        }
        say(Event(event: "end"), nil)
    }

    /// Exponential back-off starting at one second, with jitter so that devices differ.
    private func pauseAfter(_ failures: Int) -> Duration {
        let limit = min(Self.longestPause / .seconds(1), Double(1 << min(failures - 1, 10)))
        return .seconds(limit * Double.random(in: 0.5...1))
    }

    private func tell(_ round: DirectorySynchronizer.Round) -> Bool {
        guard
            !round.sent.isEmpty || !round.received.isEmpty || !round.conflicts.isEmpty || !round.problems.isEmpty
                || !round.awaited.isEmpty
        else { return false }
        if asJSON {
            say(
                Event(
                    event: "round", sent: round.sent, received: round.received, conflicts: round.conflicts,
                    problems: round.problems, awaited: round.awaited), nil)
        } else {
            RoundReport().tell(round)
            for problem in round.problems { Output.note("not synchronized: \(RoundReport.line(problem))") }
        }
        return true
    }

    private func say(_ event: Event, _ text: String?) {
        if asJSON { Output.write(event, "", asJSON: true) } else if let text { Output.note(text) }
    }
}
