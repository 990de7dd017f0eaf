import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// SIGINT and SIGTERM as a request to stop; the second one exits immediately.
final class Interruption: Sendable {
    private let isWanted = Mutex(false)
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    /// - Parameter body: called at the first signal, from any thread.
    init(_ body: @escaping @Sendable () -> Void) {
        unsafe sources = [SIGINT, SIGTERM].map { number in
            _ = signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        for source in unsafe sources {
            source.setEventHandler { [self] in
                let isFirst = isWanted.withLock { isWanted in
                    defer { isWanted = true }
                    return !isWanted
                }
                if isFirst { body() } else { _Exit(130) }
            }
            source.resume()
        }
    }

    /// Whether a signal was received.
    var isRequested: Bool { isWanted.withLock { $0 } }
}
