internal import COpenSSL

/// Process-wide setup of libcrypto.
public enum CryptoLibrary {
    /// Lets the library's memory be when the process ends: a thread that nobody waits for may still be at work with it.
    /// Called once in `main`, before anything else of the library, or of one that uses it (OPENSSL_init_crypto(3)).
    public static func initialize() {
        let isSet = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        precondition(isSet == 1, "OpenSSL could not be initialized")
    }
}
