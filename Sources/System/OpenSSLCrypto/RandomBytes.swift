internal import COpenSSL

/// Random bytes from OpenSSL's generator, which is seeded by the operating system (RAND_bytes(3)).
///
/// Suitable for keys, nonces and unguessable identifiers. Thread-safe.
public enum RandomBytes {
    /// Returns `count` random bytes; `count` must be 0 to 65,536.
    /// - Throws: ``CryptoError/unavailable`` if the generator could not be seeded.
    public static func generate(count: Int) throws(CryptoError) -> [UInt8] {
        precondition((0...65_536).contains(count), "at most 64 KiB of random bytes at a time")
        var succeeded = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            succeeded = count == 0 || (unsafe RAND_bytes(buffer.baseAddress, Int32(count))) == 1
            initialized = succeeded ? count : 0
        }
        guard succeeded else { throw .unavailable }
        return bytes
    }

    /// Returns a random (version 4) UUID in its text form, 36 characters in upper case (RFC 9562, section 5.4).
    /// - Throws: ``CryptoError/unavailable`` if the generator could not be seeded.
    public static func uuidText() throws(CryptoError) -> String {
        var bytes = try generate(count: 16)
        bytes[6] = bytes[6] & 0x0F | 0x40  // version 4
        bytes[8] = bytes[8] & 0x3F | 0x80  // variant of RFC 9562
        var digits = bytes.hexUppercase
        for offset in [20, 16, 12, 8] {
            digits.insert("-", at: digits.utf8.index(digits.startIndex, offsetBy: offset))
        }
        return digits
    }
}
