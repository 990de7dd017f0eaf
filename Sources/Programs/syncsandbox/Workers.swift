internal import FastCGI
internal import Posix
internal import Sandbox
internal import Synchronization

/// The threads that serve requests, one at a time each.
struct Workers: ~Copyable {
    private let threads: [JoinableThread]
    private let gate: Gate

    /// Whether the workers keep running, and how many are left.
    private final class Gate: Sendable {
        let isStopping = Atomic(false)
        let running: Atomic<Int>
        init(running: Int) { self.running = Atomic(running) }
    }

    /// Starts `count` threads.
    init(count: Int, socket: ListeningSocket, server: SandboxServer) throws {
        let gate = Gate(running: count)
        self.gate = gate
        threads = try (0..<count).map { number in
            JoinableThread(
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
            for thread in threads { thread.wake() }
            Pause.sleep(.milliseconds(20))
        }
        for thread in threads { thread.join() }
    }
}
