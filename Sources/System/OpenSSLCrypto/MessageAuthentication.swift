internal import COpenSSL

/// Returns the HMAC-SHA256 of `message` under `key`: 32 raw bytes (RFC 2104, RFC 6234).
///
/// Keys of any length are allowed, including empty ones.
public func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    // HMAC(3) reads a null key as "reuse the last one", so an empty key still needs an address.
    let presentKey = key.isEmpty ? [0] : key
    return unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
        let result = unsafe presentKey.withUnsafeBytes { keyBytes in
            unsafe message.withUnsafeBufferPointer { messageBytes in
                unsafe HMAC(
                    EVP_sha256(), keyBytes.baseAddress, Int32(key.count), messageBytes.baseAddress,
                    messageBytes.count, output.baseAddress, nil)
            }
        }
        precondition(unsafe result != nil, "HMAC fails only without memory")
        count = 32
    }
}
