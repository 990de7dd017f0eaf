import Foundation
import Logging
import SyncClient
import SyncClientTesting
import Synchronization
import Testing

@Suite("Apps tested with the simulated service")
struct SimulatedServiceTests {
    private let threads = (1...2).map { FileUUID("00000000-0000-4000-C000-00000000000\($0)")! }

    /// Two people chat on three phones.
    /// - Returns: The messages, the messages that each phone shows, and the number of app launches.
    private func talk(
        _ seed: UInt64, _ faults: SimulatedService.Faults = .all, resolver: ConflictResolver? = nil
    ) async throws -> (said: [Set<String>], shown: [[Set<String>]], launches: Int) {
        let service = SimulatedService(seed: seed, faults: faults)
        var phones: [SimulatedPhone<DiscussionApp>] = []
        for user in [1, 2, 1] {
            phones.append(try await service.addPhone(user: user) { try DiscussionApp($0, resolver: resolver) })
        }
        var said = threads.map { _ in Set<String>() }
        for number in 1...12 {
            let phone = phones[service.random(below: phones.count)]
            let thread = service.random(below: threads.count)
            try phone.app.say("message \(number)", in: threads[thread])
            said[thread].insert("message \(number)")
            // Some messages conflict with others.
            if service.random(below: 2) == 0 { try await service.run() }
        }
        try await service.settle()
        let shown = phones.map { phone in threads.map { phone.app.messages(of: $0) } }
        return (said, shown, phones.reduce(0) { $0 + $1.launches })
    }

    @Test("An app that merges shows all messages on all phones, despite all faults", arguments: 0..<8)
    func merging(block: UInt64) async throws {
        for seed in block * 5..<block * 5 + 5 {
            let (said, shown, _) = try await talk(seed)
            #expect(shown == [said, said, said], "seed \(seed)")
        }
    }

    @Test("An app that lets the server win loses messages, and the simulation detects it")
    func losing() async throws {
        var losses = 0
        for seed in UInt64(0)..<8 {
            let (said, shown, _) = try await talk(seed, resolver: .serverWins)
            #expect(Set(shown).count == 1, "seed \(seed): all phones agree nevertheless")
            if shown[0] != said { losses += 1 }
        }
        #expect(losses > 0)
    }

    @Test("Processes are killed only if configured")
    func deaths() async throws {
        var launches = 0
        for seed in UInt64(0)..<6 { launches += try await talk(seed).launches }
        #expect(launches > 6 * 3)
        #expect(try await talk(1, .none).launches == 3)
    }

    @Test("A seed replays the same history each time")
    func replay() async throws {
        let first = try await talk(3)
        let second = try await talk(3)

        #expect(first.said == second.said)
        #expect(first.launches == second.launches)
    }

    @Test("An app may wait for its syncs")
    func waiting() async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        let phone = try await service.addPhone { try DiscussionApp($0) }
        let client = phone.app.client
        let reports = Mutex<[SyncReport]>([])

        try phone.app.say("hello", in: threads[0])
        try await service.run {
            let report = try await client.synced(sharingGroupUUID: service.sharingGroupUUID)
            reports.withLock { $0.append(report) }
        }

        #expect(reports.withLock { $0.count } == 1)
        #expect(service.files[threads[0]]?.contents == Data("hello".utf8))
        #expect(!client.isSyncing)
    }

    @Test("The complete tracking report is logged before the call returns")
    func trackingReport() async throws {
        let log = LogLines()
        let logger = Logger(label: "test", factory: { _ in log.handler })
        let service = SimulatedService(seed: 1, faults: .none)
        let phone = try await service.addPhone { try DiscussionApp($0, logger: logger) }
        try phone.app.say("private words", in: threads[0])
        try await service.run()
        try phone.app.say("private words", in: threads[1])

        let report = phone.app.client.logAllTracking()

        let lines = log.lines.suffix(report.lines.count + 2)
        #expect(lines.first == "Tracking report begins")
        #expect(Array(lines.dropFirst().dropLast()) == report.lines)
        #expect(lines.last == "Tracking report ends")
        #expect(report.lines.contains { $0.contains(threads[0].rawValue) && $0.hasPrefix("file") })
        #expect(report.lines.contains { $0.contains(threads[1].rawValue) && $0.hasPrefix("upload") })
        #expect(!report.description.contains("private"))
        #expect(report.violations == [])
    }
}

/// Collects log lines.
private final class LogLines: Sendable {
    private let kept = Mutex<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    var handler: any LogHandler { Handler(log: self) }

    private struct Handler: LogHandler {
        let log: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.kept.withLock { $0.append(event.message.description) }
        }
    }
}
