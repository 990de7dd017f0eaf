// OpenSSLCryptoTests
