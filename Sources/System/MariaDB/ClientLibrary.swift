internal import CMariaDB

/// Process-wide and per-thread setup of libmariadb.
///
/// `mysql_library_init` "is not thread-safe" and `mysql_thread_init` is needed "for each thread that uses the
/// library" (mysql_library_init(3), mysql_thread_init(3)).
public enum ClientLibrary {
    /// Sets up the library; called once in `main`, before the first thread.
    public static func initialize() {
        let result = shim_mysql_library_init()
        precondition(result == 0, "libmariadb could not be initialized")
    }

    /// Sets up the calling thread; called first on each thread that uses a connection.
    public static func threadStart() { _ = mysql_thread_init() }

    /// Frees what the library keeps for the calling thread; called last on each such thread.
    public static func threadEnd() { mysql_thread_end() }
}
