internal import Glibc

/// Process-wide signal setup; call from `main`, before the first thread starts.
public enum Signals {
    /// The signals that ask a responder to do something.
    public enum Request: Equatable, Sendable {
        /// SIGTERM or SIGINT: finish the requests in progress, then exit.
        case stop
        /// SIGUSR1: reopen the log file after logrotate has moved it.
        case reopenLogs
        /// None arrived in time.
        case none
    }

    /// Ignores SIGPIPE, so that writing to a closed socket returns an error instead of killing the process.
    public static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// The signal that ends a thread's wait for the next request.
    public static let waking = SIGUSR2

    /// Installs an empty handler for ``waking`` without `SA_RESTART`, so that a blocked system call returns with
    /// `EINTR` (signal(7)), and blocks the signal in this thread and all threads it starts: a waiting thread unblocks
    /// it while it waits.
    public static func prepareWaking() {
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in }
        _ = unsafe sigaction(waking, &action, nil)
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, waking)
        _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Blocks SIGTERM, SIGINT and SIGUSR1 in this thread and all threads it starts, for ``wait(upTo:)``.
    public static func block() {
        var set = handled
        _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for one of the blocked signals.
    public static func wait(upTo limit: Duration) -> Request {
        var set = handled
        var timeout = timespec(
            tv_sec: Int(limit.components.seconds), tv_nsec: Int(limit.components.attoseconds / 1_000_000_000))
        switch unsafe sigtimedwait(&set, nil, &timeout) {
        case SIGTERM, SIGINT: return .stop
        case SIGUSR1: return .reopenLogs
        default: return .none
        }
    }

    private static var handled: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGTERM)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGUSR1)
        return set
    }
}
