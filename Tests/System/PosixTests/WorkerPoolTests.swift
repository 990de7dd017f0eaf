import Dispatch
import Foundation
import Glibc
import Posix
import Synchronization
import TestSupport
import Testing

@Suite("Worker threads and their monitoring")
struct WorkerPoolTests {
    init() { Signals.prepareWaking() }

    @Test("Time without progress counts only while a request is handled, not while waiting for a client")
    func progress() async throws {
        let steps = (0..<4).map { _ in DispatchSemaphore(value: 0) }
        let pool = try WorkerPool(.fixed(1), name: "test") { worker in
            steps[0].wait()
            worker.begin()
            steps[1].wait()
            worker.end()
            steps[2].wait()
            worker.progress()
            steps[3].wait()
        }
        #expect(pool.longestTimeWithoutProgress == .zero)

        steps[0].signal()
        try await eventually("the time is counted") { pool.longestTimeWithoutProgress > .milliseconds(20) }
        steps[1].signal()
        try await eventually("the client's time is not counted") { pool.longestTimeWithoutProgress == .zero }
        steps[2].signal()
        try await eventually("the time is counted again") { pool.longestTimeWithoutProgress > .milliseconds(20) }
        #expect(!pool.hasLostWorkers)
        steps[3].signal()
        try await eventually("an ended thread is detected") { pool.hasLostWorkers }
    }

    @Test("Threads that were asked to end do not count as lost; one that does not end in time is reported")
    func drain() throws {
        let obstacle = DispatchSemaphore(value: 0)
        let pool = try WorkerPool(.fixed(3), name: "test") { worker in
            while !worker.isToEnd { Pause.sleep(.milliseconds(1)) }
            if worker.number == 1 { obstacle.wait() }
        }

        #expect(!pool.drain(within: .milliseconds(50)))
        obstacle.signal()
        #expect(pool.drain(within: .seconds(30)))
        #expect(!pool.hasLostWorkers)
    }

    @Test("After shutdown, no thread is still in a library's clean-up code")
    func endOfThreads() throws {
        var key = pthread_key_t()
        let isMade = unsafe pthread_key_create(&key) { _ in
            Pause.sleep(.milliseconds(50))
            endedThreads.add(1, ordering: .relaxed)
        }
        try #require(isMade == 0)
        let pool = try WorkerPool(.fixed(20), name: "test") { [key] worker in
            _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
            while !worker.isToEnd { Pause.sleep(.milliseconds(1)) }
        }

        #expect(pool.drain(within: .seconds(30)))

        #expect(endedThreads.load(ordering: .relaxed) == 20)
    }

    /// A queue from which each thread takes one item at a time.
    private final class Work: Sendable {
        private let things = Mutex(0)
        let served = Atomic(0)
        let holdsUp = Atomic(true)

        func add(_ count: Int) { things.withLock { $0 += count } }
        var isLeft: Bool { things.withLock { $0 > 0 } }

        func pool(_ size: WorkerPool.Size, reviewInterval: Duration = .seconds(3_600)) throws -> WorkerPool {
            try WorkerPool(size, name: "test", reviewInterval: reviewInterval) { worker in
                while !worker.isToEnd {
                    let isThere = self.things.withLock { things in
                        defer { things = max(0, things - 1) }
                        return things > 0
                    }
                    guard isThere else {
                        Pause.sleep(.milliseconds(1))
                        continue
                    }
                    worker.serve {
                        while self.holdsUp.load(ordering: .acquiring) { Pause.sleep(.milliseconds(1)) }
                        self.served.add(1, ordering: .relaxed)
                    }
                }
            }
        }
    }

    @Test("The pool has all busy threads plus spare ones, up to the maximum, and completes all work")
    func growth() async throws {
        let work = Work()
        let pool = try work.pool(.init(spare: 2, maximum: 10))
        #expect(pool.count == 2)

        work.add(3)
        try await eventually("three are busy") { !work.isLeft && pool.count == 5 }
        work.add(20)
        try await eventually("the maximum number is busy") { pool.count == 10 }
        #expect(work.isLeft)
        work.holdsUp.store(false, ordering: .releasing)

        try await eventually("everything is done") { work.served.load(ordering: .relaxed) == 23 }
        #expect(pool.count == 10)
        #expect(pool.drain(within: .seconds(30)))
        #expect(pool.count == 0 && !pool.hasLostWorkers)
    }

    @Test("Threads that have been idle for a while end; spare and busy threads remain")
    func shrinking() async throws {
        let work = Work()
        let pool = try work.pool(.init(spare: 2, maximum: 20), reviewInterval: .milliseconds(20))
        work.add(15)
        try await eventually("all are busy") { pool.count == 17 }
        for _ in 1...3 {
            Pause.sleep(.milliseconds(25))
            pool.review()
        }
        #expect(pool.count == 17)
        work.holdsUp.store(false, ordering: .releasing)

        try await eventually("the others have ended") {
            pool.review()
            return pool.count == 4
        }
        #expect(!pool.hasLostWorkers)
        work.add(10)
        try await eventually("the remaining threads continue") { work.served.load(ordering: .relaxed) == 25 }
        #expect(pool.drain(within: .seconds(30)))
    }

    @Test("If the system creates no more threads, this is reported, and existing threads continue")
    func refusal() async throws {
        await #expect(processExitsWith: .success) {
            Signals.prepareWaking()
            let (failures, served) = (Counter(), Counter())
            @Sendable func count(_: PosixError) { failures.number.add(1, ordering: .relaxed) }
            let pool = try WorkerPool(
                .init(spare: 1, maximum: 10), name: "test", stackBytes: 1 << 30, failed: count
            ) { worker in
                // Limits the process to its current memory plus a little.
                let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").first
                let bytes = rlim_t(pages.flatMap { UInt64($0) } ?? 0) * 4_096 + (64 << 20)
                var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
                for _ in 1...2 { worker.serve { served.number.add(1, ordering: .relaxed) } }
                while !worker.isToEnd { Pause.sleep(.milliseconds(1)) }
            }
            while served.number.load(ordering: .relaxed) < 2 { Pause.sleep(.milliseconds(1)) }
            // A second attempt would have followed within a second.
            #expect(failures.number.load(ordering: .relaxed) == 1)
            #expect(pool.count == 1)
            #expect(pool.drain(within: .seconds(30)))
        }
    }

    private final class Counter: Sendable {
        let number = Atomic(0)
    }
}

private let endedThreads = Atomic(0)
