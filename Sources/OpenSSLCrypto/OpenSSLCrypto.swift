// OpenSSLCrypto
