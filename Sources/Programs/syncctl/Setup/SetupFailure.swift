/// Why setup, or a step of it, failed, in a sentence without secrets.
struct SetupFailure: Error {
    var sentence: String
    /// What the program exits with: of ``ExitStatus``, or 64 for a wrong answer on the command line (sysexits.h).
    var status: Int32

    init(_ sentence: String, status: Int32 = ExitStatus.foundSomething.rawValue) {
        self.sentence = sentence
        self.status = status
    }
}

/// A step needs a running system, and there is none: a folder stands in for the host, or systemd is not running.
struct NoRunningSystem: Error {}
