internal import CFastCGI

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
