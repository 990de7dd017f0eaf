import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// Prints the cost of moves on this machine, with emulated providers: `SYNC_MEASURE_MOVES=1 scripts/test --filter
    /// MoveCostTests`. The rate is not limited, so the result is the server's own time.
    @Suite(
        "Cost of moving contents", .enabled(if: ProcessInfo.processInfo.environment["SYNC_MEASURE_MOVES"] != nil))
    struct MoveCostTests {
        @Test("A thousand small files, and some large ones", arguments: [(1_000, 20_000), (4, 32 << 20)])
        func cost(files: Int, bytes: Int) async throws {
            let server = try TestServer(
                PrivateStack("move-cost-\(files)", responders: 1, overrides: #"{"moveBytesPerSecond": 1073741824}"#))
            let alice = try server.signUpOwningUser()
            for batch in 0..<((files + 99) / 100) {
                for _ in 0..<min(100, files) {
                    try alice.stage(TestFile(randomBytes: bytes), masterVersion: Int64(batch))
                }
                try alice.commitStaged(masterVersion: Int64(batch))
            }
            let move = try AccountSwitch(of: alice, to: server.newcomer(.dropbox).account)
            let jobs = try server.processes("syncd_jobs")
            let before = try jobs.map { try $0.processorSeconds() }.reduce(0, +)
            let clock = ContinuousClock()
            let begun = clock.now
            let id = try move.begun()

            #expect(try move.confirm(id, moving: true).json?.movesContents?.bool == true)
            let confirmed = clock.now
            try await eventually("the switch is finished", within: .seconds(400)) {
                try move.status(id).json?.state?.text == "finished"
            }

            let processor = try jobs.map { try $0.processorSeconds() }.reduce(0, +) - before
            let peak = try jobs.map { try $0.peakResidentBytes() }.max() ?? 0
            print(
                "\(files) files of \(bytes) bytes: begun and confirmed in \(begun.duration(to: confirmed)), moved in "
                    + "\(confirmed.duration(to: clock.now)), \(processor) s of processor time of the jobs role, which had "
                    + "\(peak >> 20) MiB at most")
            #expect(try move.status(id).json?.serverMove?.numberMoved?.integer == Int64(files))
        }
    }
}

extension StackProcess {
    /// Processor time used so far, in seconds (proc(5), `/proc/PID/stat`, fields 14 and 15).
    fileprivate func processorSeconds() throws -> Double {
        let text = try String(contentsOf: URL(filePath: "/proc/\(id)/stat"), encoding: .utf8)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / 100
    }
}
