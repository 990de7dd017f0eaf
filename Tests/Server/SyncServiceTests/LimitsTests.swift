import SyncProtocol
import Testing

@testable import SyncService

@Suite("The minimum rate of a transfer")
struct TransferPaceTests {
    /// 1,000 bytes a second, after 30 s.
    private func pace() -> TransferPace { TransferPace(bytesPerSecond: 1_000, grace: .seconds(30)) }

    @Test("A stalled transfer is ended after its grace period, not before")
    func standstill() {
        var pace = pace()

        pace.moved(0, in: .seconds(30))
        #expect(pace.isKept)
        pace.moved(0, in: .milliseconds(1))
        #expect(!pace.isKept)
    }

    @Test("A byte every 20 s does not keep a transfer alive")
    func trickle() {
        var pace = pace()
        var bytes = 0
        while pace.isKept {
            pace.moved(1, in: .seconds(20))
            bytes += 1
        }
        #expect(bytes == 2)
    }

    @Test(
        "A transfer at the average rate is never ended, even if bytes arrive in bursts", arguments: [1, 100, 30_000])
    func average(lump: Int) {
        var pace = pace()
        for _ in 0..<(3_600_000 / lump) {
            pace.moved(lump, in: .milliseconds(lump))
            #expect(pace.isKept)
        }
    }

    @Test("A fast start gains two minutes, not hours")
    func savings() {
        var pace = pace()
        pace.moved(1 << 30, in: .seconds(1))

        pace.moved(0, in: .seconds(120))
        #expect(pace.isKept)
        pace.moved(1, in: .seconds(1))
        #expect(!pace.isKept)
        #expect(pace.longestStandstill == .seconds(120))
    }
}

@Suite("Shares of the transfer threads")
struct TransferSharesTests {
    private let alice = UserID(1)
    private let bob = UserID(2)

    @Test("A user's transfers are limited in both directions together, and other users are not affected")
    func perUser() {
        var shares = TransferShares(threads: 100, maximumPerUser: 3)

        #expect(shares.enter(alice, .upload) == .entered)
        #expect(shares.enter(alice, .download) == .entered)
        #expect(shares.enter(alice, .download) == .entered)
        #expect(shares.enter(alice, .upload) == .tooManyOfUser)
        #expect(shares.enter(bob, .upload) == .entered)
        shares.leave(alice, .download)
        #expect(shares.enter(alice, .upload) == .entered)
    }

    @Test("Neither direction gets more than three quarters of the threads")
    func perDirection() {
        var shares = TransferShares(threads: 8, maximumPerUser: 100)
        for _ in 0..<6 { #expect(shares.enter(alice, .download) == .entered) }

        #expect(shares.enter(bob, .download) == .tooManyInDirection)
        for _ in 0..<6 { #expect(shares.enter(bob, .upload) == .entered) }
        #expect(shares.enter(bob, .upload) == .tooManyInDirection)
        shares.leave(alice, .download)
        #expect(shares.enter(bob, .download) == .entered)
    }

    @Test("A process with one thread accepts one transfer")
    func oneThread() {
        var shares = TransferShares(threads: 1, maximumPerUser: 1)
        #expect(shares.enter(alice, .upload) == .entered)
    }

    @Test("After the last transfer no state is left")
    func nothingStays() {
        var shares = TransferShares(threads: 8, maximumPerUser: 8)
        for user in [alice, bob, alice] { _ = shares.enter(user, .upload) }
        for user in [alice, bob, alice] { shares.leave(user, .upload) }

        #expect(shares.enter(alice, .upload) == .entered)
        shares.leave(alice, .upload)
        #expect(shares.usersKnown == 0)
    }
}

@Suite("Queueing of requests")
struct TurnsTests {
    private func turns(waiting: Int = 2, ofAll: Int = 10) -> Turns<String, Int> {
        Turns(maximumRunning: 2, maximumWaiting: waiting, maximumWaitingOfAll: ofAll)
    }

    @Test("Requests run up to the share, queue up to the limit, and are then rejected; other users are not affected")
    func order() {
        var turns = turns()

        let decisions = (1...5).map { turns.enter("alice", $0) }
        #expect(decisions == [.goesOn, .goesOn, .waits, .waits, .refused])
        #expect(turns.enter("bob", 6) == .goesOn)
    }

    @Test("A finished request is followed by the longest waiting one, and the limit is never exceeded")
    func handover() {
        var turns = turns()
        for number in 1...4 { _ = turns.enter("alice", number) }

        #expect(turns.leave("alice") == 3)
        #expect(turns.enter("alice", 5) == .waits)
        #expect(turns.leave("alice") == 4)
        #expect(turns.leave("alice") == 5)
        #expect(turns.leave("alice") == nil)
        #expect(turns.enter("alice", 6) == .goesOn)
        #expect(turns.enter("alice", 7) == .waits)
    }

    @Test("The total number of waiting requests is also bounded")
    func bound() {
        var turns = turns(ofAll: 3)
        for number in 1...4 { _ = turns.enter("alice", number) }
        for number in 1...3 { _ = turns.enter("bob", number) }

        #expect(turns.enter("bob", 4) == .refused)
        _ = turns.leave("alice")
        #expect(turns.enter("bob", 4) == .waits)
    }

    @Test("After the last request no state is left")
    func nothingStays() {
        var turns = turns()
        for number in 1...4 { _ = turns.enter("alice", number) }
        for _ in 1...4 { _ = turns.leave("alice") }

        #expect(turns.isEmpty)
    }
}
