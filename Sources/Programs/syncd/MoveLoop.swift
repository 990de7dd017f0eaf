import HTTPTransport
import Logging
import Posix
import SyncService
import Vault

/// The main loop of a thread of the `jobs` role that moves contents after switches of accounts.
struct MoveLoop: Sendable {
    private static let idlePause: Duration = .seconds(1)
    private static let pauseAfterError: Duration = .seconds(2)

    let mover: ContentMover
    let makeTransport: @Sendable () -> Transport
    /// Moves rest while the server is closed.
    let maintenance: MaintenanceWatch
    let logger: Logger

    func run(activity: WorkerActivity, until stop: StopFlag) {
        while !stop.isSet {
            activity.begin()
            let pause = step(activity, stop)
            activity.end()
            if let pause { Pause.sleep(pause) }
        }
    }

    /// Moves one file; returns how long to wait for more.
    private func step(_ activity: WorkerActivity, _ stop: StopFlag) -> Duration? {
        guard maintenance.notice == nil else { return Self.idlePause }
        do {
            let isBusy = try mover.run(
                transport: makeTransport(),
                goesOn: {
                    activity.progress()
                    return !stop.isSet
                })
            return isBusy ? nil : Self.idlePause
        } catch {
            logger.warning("Moves wait", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
            return Self.pauseAfterError
        }
    }
}
