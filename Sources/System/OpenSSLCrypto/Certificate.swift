internal import COpenSSL

/// A server's certificate (X.509), with the properties that an operator needs.
@safe
public struct Certificate: ~Copyable {
    private let certificate: OpaquePointer

    /// Reads the first certificate of a PEM text, in which other text is ignored (PEM_read_bio_X509(3)).
    /// - Throws: ``CryptoError/invalidKey`` if the text contains none, ``CryptoError/unavailable``.
    public init(pem: String) throws(CryptoError) {
        let text = try MemoryBIO(pem)
        guard let certificate = unsafe PEM_read_bio_X509(text.handle, nil, { _, _, _, _ in -1 }, nil) else {
            throw .forgettingDetails(.invalidKey)
        }
        unsafe self.certificate = unsafe certificate
    }

    deinit { unsafe X509_free(certificate) }

    /// How many seconds the certificate remains valid; negative once it has expired (ASN1_TIME_diff(3)).
    public var secondsLeft: Int64 {
        var days: Int32 = 0
        var seconds: Int32 = 0
        // From now (NULL) to the end of its validity. A certificate whose end cannot be read counts as expired.
        guard unsafe ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1 else { return -1 }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    /// Whether the certificate covers that host name, wildcards included (X509_check_host(3)).
    public borrowing func isFor(host: String) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_host(certificate, host, host.utf8.count, 0, nil) == 1
    }

    /// Whether a private key in PEM belongs to the certificate.
    /// - Throws: ``CryptoError/invalidKey`` if the text has no private key, or an encrypted one.
    public borrowing func fits(keyPEM: String) throws(CryptoError) -> Bool {
        unsafe try OpenSSLKey(privatePEM: keyPEM).fits(certificate: certificate)
    }

    /// The SHA-256 of the certificate, which identifies it (X509_digest(3)).
    public var fingerprint: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard unsafe X509_digest(certificate, EVP_sha256(), &bytes, &length) == 1 else { return [] }
        return Array(bytes.prefix(Int(length)))
    }
}
