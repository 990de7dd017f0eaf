/// The reason why setup or one of its steps failed, as a sentence without secrets.
struct SetupFailure: Error {
    var sentence: String
    /// The exit status: one of ``ExitStatus``, or 64 for a wrong answer on the command line (sysexits.h).
    var status: Int32

    init(_ sentence: String, status: Int32 = ExitStatus.foundSomething.rawValue) {
        self.sentence = sentence
        self.status = status
    }
}

/// A step needs a running system, but setup works on a folder, or systemd is not running.
struct NoRunningSystem: Error {}
