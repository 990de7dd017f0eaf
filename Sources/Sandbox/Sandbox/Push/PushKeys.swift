internal import OpenSSLCrypto
internal import Posix

/// The app maker's push keys; the emulated services know their public halves.
///
/// The sandbox's operator puts the private keys into its directory: `apns-key.pem` (P-256) and `fcm-key.pem` (RSA).
/// They are read again for each check, which is cheap enough here.
struct PushKeys {
    let directory: StateDirectory

    /// The key for Apple's provider tokens; `nil` if there is none.
    var apns: PublicKey? { key("apns-key.pem") }
    /// The key of the service account; `nil` if there is none.
    var fcm: PublicKey? { key("fcm-key.pem") }

    private func key(_ name: String) -> PublicKey? {
        guard let text = try? TextFile.read(directory.path + "/" + name) else { return nil }
        return try? PrivateKey(pem: String(decoding: text, as: UTF8.self)).publicKey
    }
}

/// A signed token (RFC 7515), parsed and with a verified signature.
struct CheckedToken {
    let header: JSONValue
    let claims: JSONValue

    /// `nil` if the text is not a token of `algorithm` signed by `key`.
    /// - Parameter isAnySignatureGood: skips the signature check; a deliberate defect.
    init?(_ text: String, algorithm: String, key: PublicKey?, isAnySignatureGood: Bool) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let key, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            header["alg"]?.string == algorithm, let signature = [UInt8](base64URL: parts[2]),
            isAnySignatureGood || key.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        self.header = header
        self.claims = claims
    }

    private static func json(_ part: Substring) -> JSONValue? {
        [UInt8](base64URL: part).flatMap { try? JSONValue(parsing: $0) }
    }
}
