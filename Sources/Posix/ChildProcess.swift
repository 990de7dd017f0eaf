internal import Glibc

/// Other programs, run to their end.
public enum ChildProcess {
    /// What a program did.
    public struct Outcome: Sendable, Equatable {
        /// The exit status; 128 and the signal's number if a signal ended it.
        public var status: Int32
        /// Standard output and standard error, as they came; at most 1 MiB is kept.
        public var output: String
    }

    /// Runs a program without input, found as execvp(3) does, and waits for its end (posix_spawnp(3)).
    /// - Throws: ``PosixError``; `ENOENT` if there is no such program.
    public static func run(_ arguments: [String]) throws(PosixError) -> Outcome {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw PosixError(call: "pipe", code: errno) }
        defer { close(ends[0]) }
        // The program gets duplicates of the end for writing, and nothing else.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let started = Result { () throws(PosixError) in try spawn(arguments, output: ends[1]) }
        close(ends[1])
        let identifier = try started.get()
        let output = readAll(ends[0])
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) < 0 {
            guard errno == EINTR else { throw PosixError(call: "waitpid", code: errno) }
        }
        // wait(2): WIFEXITED, WEXITSTATUS and WTERMSIG are macros.
        let signal = status & 0x7F
        return Outcome(
            status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, output: String(decoding: output, as: UTF8.self))
    }

    private static func spawn(_ arguments: [String], output: Int32) throws(PosixError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { for index in 0..<arguments.count { unsafe free(pointers[index]) } }
        var identifier: pid_t = 0
        let code = unsafe posix_spawnp(&identifier, arguments[0], &actions, nil, &pointers, unsafe environ)
        guard code == 0 else { throw PosixError(call: "posix_spawnp", code: code) }
        return identifier
    }

    private static func readAll(_ descriptor: Int32) -> [UInt8] {
        var contents: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return contents }
            if contents.count < 1 << 20 { contents += chunk[..<count] }
        }
    }
}
