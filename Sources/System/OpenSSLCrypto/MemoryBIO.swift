internal import COpenSSL

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
