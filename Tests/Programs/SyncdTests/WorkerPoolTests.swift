import Dispatch
import Glibc
import Posix
import Synchronization
import TestSupport
import Testing

@testable import syncd

@Suite("Worker threads and their monitoring")
struct WorkerPoolTests {
    init() { Signals.prepareWaking() }

    @Test("Time without progress counts only while a request is handled, and not while waiting for a phone")
    func progress() async throws {
        let steps = (0..<4).map { _ in DispatchSemaphore(value: 0) }
        let pool = try WorkerPool(threads: 1, name: "test") { _, activity, _ in
            steps[0].wait()
            activity.begin()
            steps[1].wait()
            activity.end()
            steps[2].wait()
            activity.progress()
            steps[3].wait()
        }
        #expect(pool.longestTimeWithoutProgress == .zero)

        steps[0].signal()
        try await eventually("the time counts") { pool.longestTimeWithoutProgress > .milliseconds(20) }
        steps[1].signal()
        try await eventually("the phone's time does not") { pool.longestTimeWithoutProgress == .zero }
        steps[2].signal()
        try await eventually("it counts again") { pool.longestTimeWithoutProgress > .milliseconds(20) }
        #expect(!pool.hasLostWorkers)
        steps[3].signal()
        try await eventually("a thread that has ended is missed") { pool.hasLostWorkers }
    }

    @Test("Threads that were told to end do not count as lost; one that does not end in time is reported")
    func drain() throws {
        let obstacle = DispatchSemaphore(value: 0)
        let pool = try WorkerPool(threads: 3, name: "test") { index, _, stop in
            while !stop.isSet { Pause.sleep(.milliseconds(1)) }
            if index == 1 { obstacle.wait() }
        }

        #expect(!pool.drain(within: .milliseconds(50)))
        obstacle.signal()
        #expect(pool.drain(within: .seconds(30)))
        #expect(!pool.hasLostWorkers)
    }

    @Test("After shutdown no thread is left in the libraries' clean-up code")
    func endOfThreads() throws {
        var key = pthread_key_t()
        let isMade = unsafe pthread_key_create(&key) { _ in
            Pause.sleep(.milliseconds(50))
            endedThreads.add(1, ordering: .relaxed)
        }
        try #require(isMade == 0)
        let pool = try WorkerPool(threads: 20, name: "test") { [key] _, _, stop in
            _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
            while !stop.isSet { Pause.sleep(.milliseconds(1)) }
        }

        #expect(pool.drain(within: .seconds(30)))

        #expect(endedThreads.load(ordering: .relaxed) == 20)
    }
}

private let endedThreads = Atomic(0)
