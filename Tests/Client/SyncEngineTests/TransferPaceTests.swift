import SyncEngine
import SyncProtocol
import Testing

/// The number of transfers at a time, under conditions that the tests simulate.
@Suite("The number of concurrent transfers")
struct TransferPaceTests {
    /// A line, a provider and a server. A transfer takes the latency, and as long as its share of the line requires.
    struct World {
        var latency = 0.0
        var bytesPerSecond = Double.infinity
        /// The number of transfers that the server accepts; it refuses others, which are repeated after a second.
        var share = Int.max
        /// Whether transfers fail.
        var isBroken = false
        private(set) var now = 0.0
        /// The greatest number of transfers at a time.
        private(set) var greatest = 0
        private(set) var refusals = 0
        private var lastToken = 0

        init(latency: Double, bytesPerSecond: Double = .infinity) {
            (self.latency, self.bytesPerSecond) = (latency, bytesPerSecond)
        }

        /// Transfers files; returns the time that this took.
        mutating func move(_ files: Int, of bytes: Int64, _ pace: inout TransferPace) -> Double {
            let begin = now
            var running: [(end: Double, token: EngineToken, isRefused: Bool)] = []
            var waiting = files
            while waiting > 0 || !running.isEmpty {
                while waiting > 0, running.count < pace.allowed {
                    waiting -= 1
                    lastToken += 1
                    let token = EngineToken(rawValue: lastToken)
                    pace.begin(token)
                    running.append(begun(token, bytes, among: running.count + 1, &pace))
                    greatest = max(greatest, running.count)
                }
                guard let next = running.indices.min(by: { running[$0].end < running[$1].end }) else { break }
                let ended = running.remove(at: next)
                now = ended.end
                if ended.isRefused {
                    running.append(begun(ended.token, bytes, among: running.count + 1, &pace))
                } else {
                    pace.end(ended.token, isBroken ? .congested : .moved(bytes: bytes), at: .seconds(now))
                }
            }
            return now - begin
        }

        private mutating func begun(
            _ token: EngineToken, _ bytes: Int64, among number: Int, _ pace: inout TransferPace
        ) -> (end: Double, token: EngineToken, isRefused: Bool) {
            guard number <= share else {
                refusals += 1
                pace.slowDown()
                return (now + 1, token, true)
            }
            return (now + latency + Double(number) * Double(bytes) / bytesPerSecond, token, false)
        }
    }

    @Test("With a distant provider, many small files are soon transferred at a time")
    func latency() {
        var (world, pace) = (World(latency: 0.2), TransferPace(maximum: 24))
        #expect(pace.allowed == TransferPace.initial)
        let seconds = world.move(300, of: 1_000, &pace)
        #expect(pace.allowed == 24)
        #expect(seconds < 5, "16 at a time would take 3.75 s")
    }

    @Test("On a slow line, a few large files are transferred at a time, at the speed of the line")
    func bandwidth() {
        var (world, pace) = (World(latency: 0.2, bytesPerSecond: 2_500_000), TransferPace(maximum: 24))
        let seconds = world.move(300, of: 2_000_000, &pace)
        #expect(world.greatest <= 8 && pace.allowed <= 6)
        #expect(seconds < 240 / 0.9, "the line needs 240 s")
    }

    @Test("Where a processor is the limit, only a few small files are transferred at a time")
    func processor() {
        var (world, pace) = (World(latency: 0, bytesPerSecond: 100_000), TransferPace(maximum: 24))
        _ = world.move(1_000, of: 1_000, &pace)
        #expect(pace.allowed <= 6)
    }

    @Test("After small files, few large files are transferred at a time")
    func sizes() {
        var (world, pace) = (World(latency: 0.2, bytesPerSecond: 2_500_000), TransferPace(maximum: 24))
        _ = world.move(500, of: 1_000, &pace)
        #expect(pace.allowed >= 16)
        _ = world.move(200, of: 2_000_000, &pace)
        #expect(pace.allowed <= 8)
        _ = world.move(500, of: 1_000, &pace)
        #expect(pace.allowed >= 16)
    }

    @Test("A number that the server refuses is halved, and attempted again only rarely")
    func refusals() {
        var (world, pace) = (World(latency: 0.2), TransferPace(maximum: 24))
        world.share = 10
        _ = world.move(1_000, of: 1_000, &pace)
        #expect((5...10).contains(pace.allowed))
        #expect(world.refusals < 50)
    }

    @Test("Failures reduce the number to one; afterwards it grows again")
    func failures() {
        var (world, pace) = (World(latency: 0.2), TransferPace(maximum: 24))
        world.isBroken = true
        _ = world.move(40, of: 1_000, &pace)
        #expect(pace.allowed == 1)
        world.isBroken = false
        _ = world.move(300, of: 1_000, &pace)
        #expect(pace.allowed >= 4)
    }

    @Test("A falling rate reduces the number")
    func fallingRate() {
        var (world, pace) = (World(latency: 0.2), TransferPace(maximum: 24))
        _ = world.move(300, of: 100_000, &pace)
        world.bytesPerSecond = 1_000_000
        _ = world.move(600, of: 100_000, &pace)
        #expect(pace.allowed < 24)
    }

    @Test("The number stays within the maximum", arguments: [1, 2, 5, 32])
    func maximum(number: Int) {
        var (world, pace) = (World(latency: 0.2), TransferPace(maximum: number))
        _ = world.move(500, of: 1_000, &pace)
        #expect(world.greatest == number && pace.allowed == number)
    }

    @Test("A clock that stands still, or goes back, changes nothing")
    func clock() {
        var pace = TransferPace(maximum: 24)
        for (number, second) in [5, 5, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0].enumerated() {
            let tokens = (0..<4).map { EngineToken(rawValue: number * 4 + $0) }
            for token in tokens { pace.begin(token) }
            for token in tokens { pace.end(token, .moved(bytes: 1), at: .seconds(second)) }
        }
        #expect(pace.allowed == TransferPace.initial)
    }
}
