internal import COpenSSL

/// An ECDSA signature on P-256: two numbers, in two encodings.
///
/// OpenSSL uses DER, JSON Web Signatures use r and s of 32 bytes each (RFC 7518, section 3.4).
struct ECDSASignature {
    /// r and s, 64 bytes.
    let fixedLength: [UInt8]
    /// The same in DER (RFC 3279, section 2.2.3).
    let der: [UInt8]

    /// Reads DER (d2i_ECDSA_SIG(3)).
    init(der: [UInt8]) throws(CryptoError) {
        let signature = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &position, bytes.count)
        }
        guard let signature = unsafe signature else { throw .forgettingDetails(.malformedRecord) }
        defer { unsafe ECDSA_SIG_free(signature) }
        guard let r = unsafe ECDSA_SIG_get0_r(signature), let s = unsafe ECDSA_SIG_get0_s(signature) else {
            throw .malformedRecord
        }
        fixedLength = try BigNumber.bytes(of: r, byteCount: 32) + BigNumber.bytes(of: s, byteCount: 32)
        self.der = der
    }

    /// Reads r and s; anything but 64 bytes is ``CryptoError/malformedRecord``.
    init(fixedLength: [UInt8]) throws(CryptoError) {
        guard fixedLength.count == 64 else { throw .malformedRecord }
        guard let signature = unsafe ECDSA_SIG_new() else { throw .unavailable }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe BN_bin2bn(Array(fixedLength.prefix(32)), 32, nil)
        let s = unsafe BN_bin2bn(Array(fixedLength.suffix(32)), 32, nil)
        // From here on the signature owns both numbers (ECDSA_SIG_set0(3)); the call rejects only null ones.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            throw .unavailable
        }
        // At most 2 bytes of sequence header and 35 for each number.
        let der = unsafe [UInt8](unsafeUninitializedCapacity: 80) { buffer, count in
            var position = buffer.baseAddress
            count = Int(max(0, unsafe i2d_ECDSA_SIG(signature, &position)))
        }
        guard !der.isEmpty else { throw .unavailable }
        self.fixedLength = fixedLength
        self.der = der
    }
}

/// OpenSSL's large numbers, as bytes.
enum BigNumber {
    /// The number in big-endian form, left-padded to `byteCount` or as short as possible (BN_bn2binpad(3)).
    /// - Throws: ``CryptoError/malformedRecord`` if it does not fit.
    @safe
    static func bytes(of number: OpaquePointer, byteCount: Int32?) throws(CryptoError) -> [UInt8] {
        let length = unsafe byteCount ?? ((BN_num_bits(number) + 7) / 8)
        var bytes = [UInt8](repeating: 0, count: Int(length))
        guard unsafe BN_bn2binpad(number, &bytes, length) == length else { throw .malformedRecord }
        return bytes
    }
}

extension CryptoError {
    /// Empties OpenSSL's error queue of this thread, so that no later call mistakes an old entry for its own
    /// (ERR_get_error(3)), and returns the error.
    static func forgettingDetails(_ error: CryptoError) -> CryptoError {
        ERR_clear_error()
        return error
    }
}
