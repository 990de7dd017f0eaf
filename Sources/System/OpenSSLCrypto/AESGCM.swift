internal import COpenSSL

/// One AES-256-GCM operation in one direction, using OpenSSL's EVP interface (EVP_EncryptInit(3), "AEAD interface").
@safe
struct AESGCM: ~Copyable {
    enum Direction: Int32 {
        case open = 0
        case seal = 1
    }

    private let context: OpaquePointer

    /// Starts an operation; `key` is 32 bytes, `nonce` 12, OpenSSL's default for GCM.
    init(_ direction: Direction, key: [UInt8], nonce: [UInt8]) throws(CryptoError) {
        precondition(key.count == 32 && nonce.count == 12)
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .unavailable }
        guard unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, direction.rawValue) == 1 else {
            unsafe EVP_CIPHER_CTX_free(context)
            throw .unavailable
        }
        // Set after the last throw: from here on deinit frees the context.
        unsafe self.context = unsafe context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Adds bytes that are authenticated but not encrypted; only before ``process(_:)``.
    borrowing func authenticate(_ bytes: [UInt8]) throws(CryptoError) {
        guard !bytes.isEmpty else { return }
        var written: Int32 = 0
        guard unsafe EVP_CipherUpdate(context, nil, &written, bytes, Int32(bytes.count)) == 1 else {
            throw .unavailable
        }
    }

    /// Encrypts or decrypts all of `input` and returns as many bytes; called once.
    borrowing func process(_ input: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard !input.isEmpty else { return [] }
        var result: Int32 = 0
        let output = unsafe [UInt8](unsafeUninitializedCapacity: input.count) { buffer, count in
            var written: Int32 = 0
            result = unsafe EVP_CipherUpdate(context, buffer.baseAddress, &written, input, Int32(input.count))
            count = Int(written)
        }
        guard result == 1, output.count == input.count else { throw .unavailable }
        return output
    }

    /// Ends sealing and returns the tag.
    borrowing func finishSealing(tagBytes: Int) throws(CryptoError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: tagBytes)
        var written: Int32 = 0
        // In GCM the final step writes no bytes, so the tag's buffer can serve as its output.
        guard unsafe EVP_CipherFinal_ex(context, &tag, &written) == 1,
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag) == 1
        else { throw .unavailable }
        return tag
    }

    /// Ends opening; whether `tag` authenticates everything processed.
    borrowing func finishOpening(tag: [UInt8]) -> Bool {
        var tag = tag
        guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
            return false
        }
        var nothing: [UInt8] = [0]
        var written: Int32 = 0
        return unsafe EVP_CipherFinal_ex(context, &nothing, &written) == 1
    }
}
