internal import COpenSSL

/// Process-wide setup of libcrypto.
public enum CryptoLibrary {
    /// Keeps the library from freeing its memory at process exit: a detached thread may still be using it. Call once in
    /// `main`, before any other call to the library or to one that uses it (OPENSSL_init_crypto(3)).
    public static func initialize() {
        let isSet = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        precondition(isSet == 1, "OpenSSL could not be initialized")
    }
}
