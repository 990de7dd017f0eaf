internal import FastCGI
internal import Posix
internal import Sandbox
internal import Synchronization

/// The threads that serve requests, one at a time each.
struct Workers: ~Copyable {
    private let threads: [Box]
    private let gate: Gate

    /// Whether the workers go on, and how many are left.
    private final class Gate: Sendable {
        let isStopping = Atomic(false)
        let running: Atomic<Int>
        init(running: Int) { self.running = Atomic(running) }
    }

    /// A thread in an array: arrays hold copyable elements only.
    private final class Box {
        private var thread: WorkerThread?

        init(_ thread: consuming WorkerThread) { self.thread = consume thread }

        func wake() { thread?.wake() }
        func join() { thread.take()?.join() }
    }

    /// Starts `count` threads.
    init(count: Int, socket: ListeningSocket, server: SandboxServer) throws {
        let gate = Gate(running: count)
        self.gate = gate
        threads = try (0..<count).map { number in
            Box(
                try WorkerThread(name: "sandbox-\(number)", stackBytes: 1 << 20) {
                    defer { gate.running.subtract(1, ordering: .releasing) }
                    guard let exchange = try? Exchange(socket: socket, server: server) else { return }
                    while !gate.isStopping.load(ordering: .acquiring) {
                        if exchange.accept() { exchange.serve() }
                    }
                })
        }
    }

    /// Ends the threads after the requests in flight.
    func stop() {
        gate.isStopping.store(true, ordering: .releasing)
        FastCGILibrary.beginShutdown()
        while gate.running.load(ordering: .acquiring) > 0 {
            for box in threads { box.wake() }
            Pause.sleep(.milliseconds(20))
        }
        // What OpenSSL does at the end of a thread must be over before the process ends (OPENSSL_thread_stop(3)).
        for box in threads { box.join() }
    }
}
