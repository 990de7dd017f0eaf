import CPosix
import Glibc
import Synchronization

/// A program that runs alongside this one, started with posix_spawnp(3).
///
/// Its exit is detected with waitpid(2) only, never through a descriptor that one of its own children may keep open.
public final class ChildProcess: Sendable {
    /// The process id; it is not reused until ``wait()`` or ``isRunning`` has reported the exit.
    public let identifier: Int32
    private let end = Mutex<Int32?>(nil)

    /// Starts a program, found as execvp(3) does; it keeps running after this object is freed.
    ///
    /// It inherits only the descriptors named here, whatever other threads open meanwhile. It starts with no signals
    /// blocked.
    /// - Parameters:
    ///   - arguments: the program's name and its arguments.
    ///   - input: a descriptor for standard input; without one the input is empty.
    ///   - output: a descriptor for standard output and standard error; without one both are discarded.
    ///   - errors: a descriptor for standard error, if it differs from that of the output.
    ///   - hasOwnGroup: whether the program gets its own process group, and therefore none of the signals that a
    ///     terminal sends to this process's group.
    /// - Throws: ``PosixError``; `ENOENT` if the program does not exist.
    public init(
        _ arguments: [String], input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil,
        hasOwnGroup: Bool = false
    ) throws(PosixError) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (standard, given) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, errors ?? output)] {
            if let given {
                unsafe posix_spawn_file_actions_adddup2(&actions, given, standard)
            } else {
                unsafe posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0)
            }
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // No signal is blocked, regardless of those blocked in the calling thread; process group 0 means its own.
        let group = hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | group))

        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { for index in 0..<arguments.count { unsafe free(pointers[index]) } }
        var identifier: pid_t = 0
        let code = unsafe posix_spawnp(&identifier, arguments[0], &actions, &attributes, &pointers, unsafe environ)
        guard code == 0 else { throw PosixError(call: "posix_spawnp", code: code) }
        self.identifier = identifier
    }

    /// Waits for it to exit, and returns its exit status: 128 and the signal's number if a signal ended it.
    /// - Throws: ``PosixError``; `ECHILD` if this process ignores SIGCHLD, which it may have inherited.
    @discardableResult
    public func wait() throws(PosixError) -> Int32 {
        try end.withLock { (end) throws(PosixError) in try collect(&end, options: 0) ?? 0 }
    }

    /// False once it has exited.
    public var isRunning: Bool {
        // If the lock is held, its holder is waiting for the exit.
        let status = end.withLockIfAvailable { end in
            Result { () throws(PosixError) in try collect(&end, options: WNOHANG) }
        }
        return switch status {
        case nil, .success(nil): true
        case .success, .failure: false
        }
    }

    /// Sends a signal, such as `SIGKILL`, unless the program is known to have exited.
    public func send(_ signal: Int32) { if isRunning { kill(identifier, signal) } }

    /// waitpid(2), once: after that the system may reuse the process id.
    private func collect(_ end: inout Int32?, options: Int32) throws(PosixError) -> Int32? {
        if let end { return end }
        var status: Int32 = 0
        var ended: pid_t
        repeat { ended = unsafe waitpid(identifier, &status, options) } while ended < 0 && errno == EINTR
        guard ended != 0 else { return nil }
        guard ended > 0 else { throw PosixError(call: "waitpid", code: errno) }
        // wait(2): WIFEXITED, WEXITSTATUS and WTERMSIG are macros.
        let signal = status & 0x7F
        end = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        return end
    }
}

extension ChildProcess {
    /// The result of a program that has exited.
    public struct Outcome: Sendable, Equatable {
        /// The exit status; 128 and the signal's number if a signal ended it.
        public var status: Int32
        /// Standard output and standard error, interleaved as received; at most 1 MiB is kept.
        public var output: String
    }

    /// Runs a program without input, and waits until it and all other writers to its output have finished.
    /// - Parameter limit: after this time the program is killed, and other writers to its output are not waited for.
    /// - Throws: ``PosixError``; `ENOENT` if the program does not exist, `ETIMEDOUT` after the limit.
    public static func run(_ arguments: [String], within limit: Duration? = nil) throws(PosixError) -> Outcome {
        let deadline = limit.map { ContinuousClock.now + $0 }
        var ends: [Int32] = [0, 0]
        guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else { throw PosixError(call: "pipe2", code: errno) }
        defer { close(ends[0]) }
        let started = Result { () throws(PosixError) in try ChildProcess(arguments, output: ends[1]) }
        close(ends[1])
        let program = try started.get()
        guard let output = readAll(ends[0], until: deadline) else {
            program.send(SIGKILL)
            try program.wait()
            throw PosixError(call: arguments[0], code: ETIMEDOUT)
        }
        return Outcome(status: try program.wait(), output: String(decoding: output, as: UTF8.self))
    }

    /// `nil` if the end has not been reached by the deadline.
    private static func readAll(_ descriptor: Int32, until deadline: ContinuousClock.Instant?) -> [UInt8]? {
        var contents: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            if let deadline {
                let left = (deadline - .now).components
                let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000
                var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let ready = unsafe poll(&readable, 1, Int32(clamping: max(0, milliseconds)))
                if ready < 0, errno == EINTR { continue }
                guard ready != 0 else { return nil }
            }
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return contents }
            if contents.count < 1 << 20 { contents += chunk[..<count] }
        }
    }
}

extension ChildProcess {
    /// Runs a program that reads one file, or writes one, and waits for it. Its standard error is this process's.
    ///
    /// - Parameters:
    ///   - input: the file that is its standard input; without one the input is empty.
    ///   - output: the file to create for its standard output, with mode 0600; it must not exist. Without one, the
    ///     output goes to standard error.
    /// - Returns: the exit status; 128 and the signal's number if a signal ended it.
    /// - Throws: ``PosixError``; `ENOENT` if the program or input does not exist.
    public static func run(
        _ arguments: [String], readingFrom input: String? = nil, writingTo output: String? = nil
    ) throws(PosixError) -> Int32 {
        let source = try input.map { path throws(PosixError) in try open(path, O_RDONLY) }
        defer { if let source { close(source) } }
        let target = try output.map { path throws(PosixError) in try open(path, O_WRONLY | O_CREAT | O_EXCL) }
        defer { if let target { close(target) } }
        return try ChildProcess(
            arguments, input: source, output: target ?? STDERR_FILENO, errors: STDERR_FILENO
        ).wait()
    }

    private static func open(_ path: String, _ flags: Int32) throws(PosixError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        return descriptor
    }
}
