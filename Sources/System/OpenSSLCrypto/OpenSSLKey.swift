import COpenSSL

/// OpenSSL's object for an asymmetric key, private or public (EVP_PKEY(7)), for the duration of one call.
@safe
struct OpenSSLKey: ~Copyable {
    private let key: OpaquePointer

    private init(owning key: OpaquePointer) { unsafe self.key = unsafe key }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Generates a new key (EVP_PKEY_keygen(3)).
    init(generating kind: SignatureKind) throws(CryptoError) {
        let algorithm =
            switch kind {
            case .rs256: EVP_PKEY_RSA
            case .es256: EVP_PKEY_EC
            }
        guard let context = unsafe EVP_PKEY_CTX_new_id(algorithm, nil) else { throw .unavailable }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_keygen_init(context) == 1 else { throw .unavailable }
        let isSet =
            switch kind {
            case .rs256: unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048)
            case .es256: unsafe EVP_PKEY_CTX_set_group_name(context, "P-256")
            }
        var made: OpaquePointer?
        guard isSet == 1, unsafe EVP_PKEY_keygen(context, &made) == 1, let key = unsafe made else {
            throw .unavailable
        }
        unsafe self.init(owning: key)
    }

    /// Reads a private key in PEM (PEM_read_bio_PrivateKey(3)); an encrypted key is rejected without a password prompt.
    init(privatePEM pem: String) throws(CryptoError) {
        let text = try MemoryBIO(pem)
        let key = unsafe PEM_read_bio_PrivateKey(text.handle, nil, { _, _, _, _ in -1 }, nil)
        guard let key = unsafe key else { throw .forgettingDetails(.invalidKey) }
        unsafe self.init(owning: key)
    }

    /// Reads a public key in PEM (PEM_read_bio_PUBKEY(3)).
    init(publicPEM pem: String) throws(CryptoError) {
        let text = try MemoryBIO(pem)
        let key = unsafe PEM_read_bio_PUBKEY(text.handle, nil, { _, _, _, _ in -1 }, nil)
        guard let key = unsafe key else { throw .forgettingDetails(.invalidKey) }
        unsafe self.init(owning: key)
    }

    /// Reads what ``privateDER()`` wrote (d2i_AutoPrivateKey(3)).
    init(privateDER encoded: [UInt8]) throws(CryptoError) {
        let key = unsafe encoded.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        guard let key = unsafe key else { throw .forgettingDetails(.invalidKey) }
        unsafe self.init(owning: key)
    }

    /// Reads what ``publicDER()`` wrote (d2i_PUBKEY(3)).
    init(publicDER encoded: [UInt8]) throws(CryptoError) {
        let key = unsafe encoded.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, bytes.count)
        }
        guard let key = unsafe key else { throw .forgettingDetails(.invalidKey) }
        unsafe self.init(owning: key)
    }

    /// Whether the numbers of a public key are consistent: an odd modulus and exponent, a point on the curve
    /// (EVP_PKEY_public_check(3)).
    var isValidPublicKey: Bool {
        guard let context = unsafe EVP_PKEY_CTX_new(key, nil) else { return false }
        defer {
            unsafe EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        return unsafe EVP_PKEY_public_check(context) == 1
    }

    /// Whether it is the private half of the key in a certificate (X509_check_private_key(3)).
    borrowing func fits(certificate: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_private_key(certificate, key) == 1
    }

    /// The kind of signatures that the key creates; nil for algorithms, sizes and curves that we do not use.
    var kind: SignatureKind? {
        let bits = unsafe EVP_PKEY_get_bits(key)
        switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: return (2_048...4_096).contains(bits) ? .rs256 : nil
        case EVP_PKEY_EC: return curveName == "prime256v1" ? .es256 : nil
        default: return nil
        }
    }

    /// The curve by OpenSSL's name (EVP_PKEY_get_group_name(3)).
    private var curveName: String? {
        var length = 0
        let name = unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            let isKnown = unsafe buffer.withMemoryRebound(to: CChar.self) { name in
                unsafe EVP_PKEY_get_group_name(key, name.baseAddress, name.count, &length)
            }
            count = isKnown == 1 ? length : 0
        }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }

    /// The private key in DER.
    borrowing func privateDER() throws(CryptoError) -> [UInt8] {
        unsafe try Self.encoded { unsafe i2d_PrivateKey(key, $0) }
    }

    /// The public key in DER, as SubjectPublicKeyInfo (RFC 5280, section 4.1).
    borrowing func publicDER() throws(CryptoError) -> [UInt8] {
        unsafe try Self.encoded { unsafe i2d_PUBKEY(key, $0) }
    }

    /// The private key in PEM, PKCS#8 (PEM_write_bio_PKCS8PrivateKey(3)).
    borrowing func privatePEM() throws(CryptoError) -> String {
        let text = try MemoryBIO("")
        guard unsafe PEM_write_bio_PKCS8PrivateKey(text.handle, key, nil, nil, 0, nil, nil) == 1 else {
            throw .unavailable
        }
        return text.contents
    }

    /// The public key in PEM (PEM_write_bio_PUBKEY(3)).
    borrowing func publicPEM() throws(CryptoError) -> String {
        let text = try MemoryBIO("")
        guard unsafe PEM_write_bio_PUBKEY(text.handle, key) == 1 else { throw .unavailable }
        return text.contents
    }

    /// Signs with SHA-256 (EVP_DigestSign(3)); ECDSA signatures are in DER.
    borrowing func signature(over message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw .unavailable }
        defer { unsafe EVP_MD_CTX_free(context) }
        var length = 0
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, nil, &length, message, message.count) == 1
        else { throw .unavailable }
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
            throw .unavailable
        }
        return Array(signature.prefix(length))
    }

    /// Whether the signature is valid (EVP_DigestVerify(3)); ECDSA signatures in DER.
    borrowing func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// One of the key's numbers by its name in EVP_PKEY-RSA(7) or EVP_PKEY-EC(7), big-endian; padded to `byteCount`, or
    /// as short as possible.
    borrowing func number(_ name: StaticString, byteCount: Int32?) throws(CryptoError) -> [UInt8] {
        var number: OpaquePointer?
        let isKnown = name.withUTF8Buffer { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) {
                unsafe EVP_PKEY_get_bn_param(key, $0.baseAddress, &number)
            }
        }
        guard isKnown == 1, let number = unsafe number else { throw .unavailable }
        defer { unsafe BN_free(number) }
        return try BigNumber.bytes(of: number, byteCount: byteCount)
    }

    /// Calls one of OpenSSL's i2d functions twice: for the length, and for the bytes (d2i_X509(3)).
    private static func encoded(
        _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(CryptoError) -> [UInt8] {
        let length = write(nil)
        guard length > 0 else { throw .unavailable }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var position = buffer.baseAddress
            count = Int(unsafe write(&position))
        }
    }
}

/// A text in OpenSSL's memory that its PEM functions read from and write to (BIO_s_mem(3)).
@safe
struct MemoryBIO: ~Copyable {
    let handle: OpaquePointer

    init(_ text: String) throws(CryptoError) {
        guard let handle = unsafe BIO_new(BIO_s_mem()) else { throw .unavailable }
        let bytes = Array(text.utf8)
        guard bytes.isEmpty || (unsafe BIO_write(handle, bytes, Int32(clamping: bytes.count))) == bytes.count else {
            unsafe BIO_free(handle)
            throw .unavailable
        }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe BIO_free(handle) }

    /// Everything written but not yet read; consumes it.
    var contents: String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1_024)
        while true {
            let count = unsafe BIO_read(handle, &piece, Int32(piece.count))
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece.prefix(Int(count))
        }
    }
}
