internal import CMariaDB

/// Process-wide and per-thread setup of libmariadb.
///
/// `mysql_library_init` "is not thread-safe" and `mysql_thread_init` is needed "for each thread that uses the
/// library" (mysql_library_init(3), mysql_thread_init(3)).
public enum ClientLibrary {
    /// Initializes the library; call once in `main`, before starting the first thread.
    public static func initialize() {
        let result = shim_mysql_library_init()
        precondition(result == 0, "libmariadb could not be initialized")
    }

    /// Initializes the calling thread; call first on each thread that uses a connection.
    public static func threadStart() { _ = mysql_thread_init() }

    /// Frees the library's data of the calling thread; call last on each such thread.
    public static func threadEnd() { mysql_thread_end() }
}
