import Configuration
import HTTPTransport
import Logging
import Posix
import Providers
import SyncService
import Vault

/// The main loop of a thread of the `jobs` role.
struct JobsLoop: Sendable {
    private static let idlePause: Duration = .milliseconds(500)
    private static let pauseAfterError: Duration = .seconds(2)
    private static let housekeepingInterval: Duration = .seconds(60)

    let worker: OutboxWorker
    let housekeeper: Housekeeper
    /// `nil` if no manifests are written.
    let manifests: ManifestScan?
    let makeTransport: @Sendable () -> Transport
    /// Work pauses while the server is closed.
    let maintenance: MaintenanceWatch
    let logger: Logger

    func run(by worker: Worker) {
        var nextHousekeeping = ContinuousClock.now
        var nextScan = ContinuousClock.now
        while !worker.isToEnd {
            worker.begin()
            let pause = round(worker, &nextHousekeeping, &nextScan)
            worker.end()
            if let pause { Pause.sleep(pause) }
        }
    }

    /// Runs the due jobs; returns how long to wait for more.
    private func round(
        _ thread: Worker, _ nextHousekeeping: inout ContinuousClock.Instant,
        _ nextScan: inout ContinuousClock.Instant
    ) -> Duration? {
        guard maintenance.notice == nil else { return Self.idlePause }
        do {
            if nextHousekeeping <= .now {
                try housekeeper.run()
                nextHousekeeping = .now + Self.housekeepingInterval
            }
            if let manifests, nextScan <= .now {
                try manifests.run()
                nextScan = .now + manifests.interval
            }
            return try worker.run(transport: makeTransport(), beforeItem: thread.progress) == 0 ? Self.idlePause : nil
        } catch {
            logger.warning("Jobs are paused by an error", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
            return Self.pauseAfterError
        }
    }
}

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

extension PushServices {
    /// The configured push services; if this process does not have the key of a service, other processes use that
    /// service.
    /// - Parameter now: seconds since 1970.
    init(_ configuration: ServerConfiguration, now: @escaping @Sendable () -> Int64) {
        self.init()
        for offer in Company.pushes {
            if let values = configuration.push[offer.section] { offer.install(values, &self, now) }
        }
    }
}
