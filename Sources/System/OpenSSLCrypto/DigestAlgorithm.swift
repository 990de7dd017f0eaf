internal import COpenSSL

/// The hash functions used for checksums of files.
public enum DigestAlgorithm: Sendable, CaseIterable {
    /// RFC 1321. Only for comparing with what a cloud reports; not cryptographically secure.
    case md5
    /// RFC 3174. Only for comparing with what a cloud reports; not cryptographically secure.
    case sha1
    /// RFC 6234.
    case sha256

    /// Length of the digest in bytes: 16, 20 or 32.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        }
    }

    /// OpenSSL's static description of the algorithm; never freed (EVP_sha256(3)).
    var openSSL: OpaquePointer {
        switch self {
        case .md5: unsafe EVP_md5()
        case .sha1: unsafe EVP_sha1()
        case .sha256: unsafe EVP_sha256()
        }
    }
}
