internal import Foundation
internal import SyncEngine
internal import SyncProtocol

/// The resources that some clients use after an hour of runtime.
public struct SoakSample: Sendable {
    /// Hours since the beginning, in virtual time.
    public let hour: Int
    /// Resident memory of the process in bytes; nil if the system does not report it.
    public let residentBytes: Int?
    /// The size in bytes of the largest client database on disk, including its log.
    public let databaseBytes: Int
    /// The maximum number of rows that a client stores.
    public let rows: Int
    /// Files created so far, including deleted ones.
    public let files: Int
    /// Events so far.
    public let events: Int
}

// A long run: growth with the number of files is expected, growth over time is a leak.
extension Simulation {
    /// People's actions in an hour: one every four seconds, far more than on a real phone.
    private static let stepsInAnHour = 900

    /// Simulates many hours of three devices, with all faults. People create a limited number of files, and then change
    /// only those. Each hour ends with all clients in agreement, checked as in a short history.
    /// - Parameters:
    ///   - seed: Determines everything except the resources that the process uses.
    ///   - hours: The minimum number of hours, in virtual time.
    ///   - files: The number of files that people create.
    ///   - folder: The folder for the databases; must exist.
    ///   - onHour: Called with the resource usage after each hour.
    /// - Returns: A report that ends with the first hour in which a rule was broken.
    public static func soak(
        seed: UInt64, hours: Int, files: Int, folder: String, onHour: (SoakSample) -> Void
    ) -> SimulationReport {
        var options = SimulationOptions(seed: seed)
        options.devices = 3
        options.hasExtensions = true
        options.hasNetworkFaults = true
        options.hasProcessDeaths = true
        options.usesDatabase = true
        options.databaseFolder = folder
        options.maximumFiles = files
        options.hasDepartures = false
        options.hasRefusals = false
        options.hasAccountSwitches = false
        let simulation = Simulation(seed: seed, options: options, logs: false)
        do {
            try simulation.setUp()
            for hour in 1...max(1, hours) where simulation.report.violations.isEmpty {
                try simulation.playHour()
                onHour(simulation.sample(hour, folder))
            }
        } catch {
            simulation.violation("the store failed: \(error)")
        }
        return simulation.report
    }

    private func playHour() throws {
        let end = time + 3_600
        isSettling = false
        remainingSteps = Self.stepsInAnHour
        queue.plan(.step, at: time + 1)
        try play()
        try settle()
        try check()
        forget()
        time = max(time, end)
    }

    private func sample(_ hour: Int, _ folder: String) -> SoakSample {
        SoakSample(
            hour: hour, residentBytes: ProcessMemory.residentBytes,
            databaseBytes: devices.map { ProcessMemory.databaseBytes("\(folder)/\($0.index).sqlite") }.max() ?? 0,
            rows: devices.compactMap { $0.engine?.state.rowCount }.max() ?? 0, files: madeFiles, events: report.events)
    }

    /// Drops the simulation's own records that its checks no longer need.
    private func forget() {
        for id in server.groups.keys {
            server.groups[id]?.commits = [:]
            for (file, changes) in server.groups[id]?.history ?? [:] {
                let last = [
                    changes.lastIndex { $0.contents != nil }, changes.lastIndex { $0.text != nil },
                    changes.indices.last,
                ]
                server.groups[id]?.history[file] = Set(last.compactMap { $0 }).sorted().map { changes[$0] }
            }
        }
        for device in devices {
            guard let state = device.engine?.state else { continue }
            device.edits = [:]
            device.textEdits = [:]
            device.seenTexts = Set(state.directory.all.compactMap { $0.appMetaData?.contents })
            device.seenVersions = Set(
                state.directory.all.compactMap { entry in
                    entry.fileVersion.map { .init(file: entry.fileUUID, version: $0) }
                })
            let sources = Set(state.items.all.compactMap(\.source))
            device.storage = device.storage.filter { $0.key.base == .library || sources.contains($0.key) }
        }
        let contents = Set(devices.flatMap { $0.files.values.compactMap(\.contents) })
        for (file, bytes) in changedInCloud {
            let current = server.groups.values.compactMap { $0.files[file]?.bytesInCloud }
            changedInCloud[file] = bytes.intersection(contents.union(current))
        }
    }
}

extension ClientState {
    /// Rows of all tables.
    var rowCount: Int {
        groups.count + directory.count + queues.count + items.count + downloadGroups.count + downloads.count
            + transfers.count
    }
}
