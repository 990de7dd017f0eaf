internal import COpenSSL

/// What an operator needs to know about a certificate (X.509).
public enum Certificate {
    /// How many seconds the first certificate of a PEM file is still valid; negative once it has expired.
    /// - Throws: ``CryptoError/invalidKey`` if there is none in the text, ``CryptoError/unavailable``.
    public static func secondsLeft(pem: String) throws(CryptoError) -> Int64 {
        let text = try MemoryBIO(pem)
        // PEM_read_bio_X509(3)
        guard let certificate = unsafe PEM_read_bio_X509(text.handle, nil, { _, _, _, _ in -1 }, nil) else {
            throw .invalidKey
        }
        defer { unsafe X509_free(certificate) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        // From now (NULL) to the end of its validity (ASN1_TIME_diff(3)).
        guard unsafe ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1 else {
            throw .unavailable
        }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}
