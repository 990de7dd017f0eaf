/// Why a step of setup failed, in a sentence without secrets.
struct SetupFailure: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}

/// A step needs a running system, and there is none: a folder stands in for the host, or systemd is not running.
struct NoRunningSystem: Error {}
