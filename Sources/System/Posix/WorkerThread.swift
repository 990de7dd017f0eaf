internal import CPosix
internal import Glibc

/// A ``WorkerThread`` in a class, because arrays hold only copyable elements.
public final class JoinableThread {
    private var thread: WorkerThread?

    /// Takes ownership of the thread.
    public init(_ thread: consuming WorkerThread) { self.thread = consume thread }

    /// Sends ``Signals/waking`` to the thread, unless it has been joined.
    public func wake() { thread?.wake() }

    /// Waits until the thread has ended, including the libraries' thread cleanup (OPENSSL_thread_stop(3)), which must
    /// finish before the process exits and frees the libraries' memory.
    public func join() { thread.take()?.join() }
}

/// A plain POSIX thread.
///
/// Blocking in it is fine: it is not part of a cooperative thread pool.
@safe
public struct WorkerThread: ~Copyable, Sendable {
    private let identifier: pthread_t

    /// Starts a thread that runs `body` once.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H` and debuggers; truncated to 15 bytes (prctl(2), `PR_SET_NAME`).
    ///   - stackBytes: size of its stack; memory is committed only when touched.
    /// - Throws: ``PosixError`` if the system cannot create another thread.
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

    /// Detaches the thread: it ends on its own and is not joined.
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
