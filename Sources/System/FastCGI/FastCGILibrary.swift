import CFastCGI

/// Process-wide initialization of libfcgi.
public enum FastCGILibrary {
    /// Initializes libfcgi; call once in `main`, before the first thread starts (fcgiapp.h, `FCGX_Init`).
    /// - Throws: ``FastCGIError/library(code:)`` if libfcgi reports an error.
    public static func initialize() throws(FastCGIError) {
        let code = FCGX_Init()
        guard code == 0 else { throw .library(code: code) }
    }

    /// Makes every blocked or future ``RequestSlot/accept()`` of this process return `false`.
    ///
    /// It only sets a flag: threads that are blocked in `accept(2)` notice it when a signal interrupts them, so the
    /// caller also signals each of them, with a handler installed without `SA_RESTART`, until they have returned. Safe
    /// to call from any thread.
    public static func beginShutdown() {
        FCGX_ShutdownPending()
    }
}

/// What can go wrong between nginx and a responder.
public enum FastCGIError: Error, Equatable {
    /// The peer closed the connection in the middle of a request: the phone disconnected, or nginx gave up.
    case aborted
    /// The peer neither read nor sent anything within the request's time limit.
    case timedOut
    /// The listening socket cannot be created or used; the payload is errno.
    case socket(errno: Int32)
    /// libfcgi returned a code that indicates a setup error.
    case library(code: Int32)
}

extension FastCGIError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .aborted: "the connection to the web server ended in the middle of the request"
        case .timedOut: "the web server accepted no bytes for too long"
        case .socket(let errno): "the listening socket cannot be used (errno \(errno))"
        case .library(let code): "libfcgi failed with code \(code)"
        }
    }
}
