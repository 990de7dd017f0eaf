internal import CCurl

/// Process-wide initialization of libcurl.
public enum CurlLibrary {
    /// Initializes libcurl; call once in `main`, before starting the first thread (curl_global_init(3)).
    public static func initialize() {
        let result = shim_curl_global_init()
        precondition(result == CURLE_OK, "libcurl could not be initialized")
    }

    /// Initializes libcurl unless this function has already done so. A library has no `main`; libcurl itself allows
    /// initialization at any time, from 7.84 on (curl_global_init(3), "threadsafe").
    static func initializeOnce() { initialized }

    private static let initialized: Void = initialize()

    /// The version of libcurl in use, for logs.
    public static var version: String { unsafe String(cString: curl_version()) }
}
