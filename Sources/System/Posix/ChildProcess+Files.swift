internal import Glibc

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
