internal import COpenSSL

/// Authenticated encryption of small secrets that are stored in the database: AES-256-GCM (NIST SP 800-38D).
///
/// A record is: version (1 byte, 1), key identifier (4 bytes, big-endian), nonce (12 bytes, random), ciphertext (as
/// long as the plaintext), tag (16 bytes). Version and key identifier are also authenticated. With random nonces one
/// key may seal at most 2³² records (SP 800-38D, section 8.3); replace it before that.
public enum SealedBox {
    /// Number of bytes by which a record is longer than its plaintext.
    public static let overheadBytes = headerBytes + nonceBytes + tagBytes

    private static let version: UInt8 = 1
    private static let headerBytes = 5
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// Seals `plaintext` (up to 2³¹ − 1 bytes) and binds it to `additionalData`.
    ///
    /// `additionalData` is not stored: it identifies where the record belongs (user, column), and opening requires the
    /// same value. Join its parts so that no two places yield the same bytes.
    /// - Throws: ``CryptoError/unavailable``.
    public static func seal(
        _ plaintext: [UInt8], key: SealingKey, additionalData: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let nonce = try RandomBytes.generate(count: nonceBytes)
        let header = [version] + (0..<4).map { UInt8(truncatingIfNeeded: key.identifier >> (24 - 8 * $0)) }
        let cipher = try AESGCM(.seal, key: key.bytes, nonce: nonce)
        try cipher.authenticate(header)
        try cipher.authenticate(additionalData)
        let ciphertext = try cipher.process(plaintext)
        return header + nonce + ciphertext + (try cipher.finishSealing(tagBytes: tagBytes))
    }

    /// Opens a record created by ``seal(_:key:additionalData:)`` with the same `additionalData`.
    ///
    /// - Throws: ``CryptoError/malformedRecord`` if it is not such a record, ``CryptoError/unknownKey(identifier:)`` if
    ///   its key is not in `keys`, ``CryptoError/authenticationFailed`` if record or additional data were changed,
    ///   ``CryptoError/unavailable``.
    public static func open(
        _ record: [UInt8], keys: KeyRing, additionalData: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        guard let identifier = keyIdentifier(of: record) else { throw .malformedRecord }
        guard let key = keys.key(identifier: identifier) else { throw .unknownKey(identifier: identifier) }
        let nonce = record[headerBytes..<(headerBytes + nonceBytes)]
        let ciphertext = record[(headerBytes + nonceBytes)..<(record.count - tagBytes)]
        let cipher = try AESGCM(.open, key: key.bytes, nonce: Array(nonce))
        try cipher.authenticate(Array(record.prefix(headerBytes)))
        try cipher.authenticate(additionalData)
        let plaintext = try cipher.process(Array(ciphertext))
        // No plaintext leaves this function unless the tag is valid.
        guard cipher.finishOpening(tag: Array(record.suffix(tagBytes))) else { throw .authenticationFailed }
        return plaintext
    }

    /// The identifier of the key that `record` was sealed with; nil if it is not a sealed record.
    public static func keyIdentifier(of record: [UInt8]) -> UInt32? {
        guard record.count >= overheadBytes, record[0] == version else { return nil }
        return record[1..<headerBytes].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
