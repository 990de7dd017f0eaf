import HTTPTransport
import Logging
import Posix
import SyncService
import Vault

/// The main loop of a thread of the `jobs` role that moves contents after account switches.
struct MoveLoop: Sendable {
    private static let idlePause: Duration = .seconds(1)
    private static let pauseAfterError: Duration = .seconds(2)

    let mover: ContentMover
    let makeTransport: @Sendable () -> Transport
    /// Moves pause while the server is closed.
    let maintenance: MaintenanceWatch
    let logger: Logger

    func run(by worker: Worker) {
        while !worker.isToEnd {
            worker.begin()
            let pause = step(worker)
            worker.end()
            if let pause { Pause.sleep(pause) }
        }
    }

    /// Moves one file; returns how long to wait for more.
    private func step(_ worker: Worker) -> Duration? {
        guard maintenance.notice == nil else { return Self.idlePause }
        do {
            let isBusy = try mover.run(
                transport: makeTransport(),
                goesOn: {
                    worker.progress()
                    return !worker.isToEnd
                })
            return isBusy ? nil : Self.idlePause
        } catch {
            logger.warning("Moves are paused by an error", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
            return Self.pauseAfterError
        }
    }
}
