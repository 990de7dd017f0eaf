internal import CPosix
internal import Glibc

/// A ``WorkerThread`` among others that end together: arrays hold copyable elements only.
public final class JoinableThread {
    private var thread: WorkerThread?

    /// Takes the thread over.
    public init(_ thread: consuming WorkerThread) { self.thread = consume thread }

    /// Sends ``Signals/waking`` to the thread, unless it has been joined.
    public func wake() { thread?.wake() }

    /// Waits until the thread has ended, with all that libraries do at its end (OPENSSL_thread_stop(3)): that must be over
    /// before the process ends, and with it their own memory.
    public func join() { thread.take()?.join() }
}

/// A plain POSIX thread.
///
/// Blocking in it is fine: it belongs to nobody's cooperative pool.
@safe
public struct WorkerThread: ~Copyable, Sendable {
    private let identifier: pthread_t

    /// Starts a thread that runs `body` once.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H` and debuggers; cut to 15 bytes (prctl(2), `PR_SET_NAME`).
    ///   - stackBytes: size of its stack; memory is used only as it is touched.
    /// - Throws: ``PosixError`` if the system has no room for another thread.
    public init(
        name: String, stackBytes: Int = 512 * 1024, _ body: sending @escaping () -> Void
    ) throws(PosixError) {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, stackBytes)
        let start = unsafe Unmanaged.passRetained(ThreadBody(name: name, run: body))
        var identifier = pthread_t()
        let code = unsafe pthread_create(
            &identifier, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let start = unsafe Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
                _ = unsafe posix_name_this_thread(start.name)
                start.run()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            unsafe start.release()
            throw PosixError(call: "pthread_create", code: code)
        }
        self.identifier = identifier
    }

    /// Sends ``Signals/waking`` to the thread.
    public borrowing func wake() {
        _ = pthread_kill(identifier, Signals.waking)
    }

    /// Lets the thread end by itself; nobody waits for it.
    public consuming func detach() {
        pthread_detach(identifier)
    }

    /// Waits until the thread has ended.
    public consuming func join() {
        pthread_join(identifier, nil)
    }

    private final class ThreadBody {
        let name: String
        let run: () -> Void
        init(name: String, run: @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }
}
