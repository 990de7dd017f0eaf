import Foundation
import SyncClient
import SyncDirectory

/// Rounds of a directory, one after the other: after changes here, now and then for changes by others, and later if the
/// server is out of reach.
struct WatchLoop {
    private let directory: OpenDirectory
    private let interval: Duration
    private let asJSON: Bool
    /// Longest pause after failures.
    private static let longestPause = Duration.seconds(60)
    /// Pause until what was just written is quiet.
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
        var message: String?
        var seconds: Double?
    }

    /// Runs until the process is asked to end.
    /// - Throws: What only a person can mend.
    func run() async throws {
        let alarm = Alarm()
        let server = directory.server
        let interruption = Interruption {
            alarm.ring()
            // What is under way is interrupted, and goes on with the next start.
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
                // A file that changes all the time is looked at often, but is no reason to ask the server as often.
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

    /// Doubles from a second on, and differs from one device to the next.
    private func pauseAfter(_ failures: Int) -> Duration {
        let limit = min(Self.longestPause / .seconds(1), Double(1 << min(failures - 1, 10)))
        return .seconds(limit * Double.random(in: 0.5...1))
    }

    private func tell(_ round: DirectorySynchronizer.Round) -> Bool {
        guard !round.sent.isEmpty || !round.received.isEmpty || !round.conflicts.isEmpty || !round.problems.isEmpty
        else { return false }
        if asJSON {
            say(
                Event(
                    event: "round", sent: round.sent, received: round.received, conflicts: round.conflicts,
                    problems: round.problems), nil)
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
