internal import FoundationEssentials
internal import OpenSSLCrypto

/// The challenge with which a code was requested; the client that redeems the code must answer it (RFC 7636, section
/// 4.2).
struct CodeChallenge: Sendable, Equatable {
    /// How the challenge is derived from the verifier.
    enum Method: String, Sendable {
        case plain
        case s256 = "S256"
    }

    let value: String
    let method: Method

    init(_ value: String, method: Method) {
        self.value = value
        self.method = method
    }

    /// The S256 challenge of a verifier.
    init(of verifier: String) {
        let digest = IncrementalDigest.digest(of: Array(verifier.utf8), .sha256)
        self.init(digest.base64URL, method: .s256)
    }

    /// Whether `verifier` is the secret for the challenge.
    func isAnswered(by verifier: String) -> Bool {
        switch method {
        case .plain: value == verifier
        case .s256: self == CodeChallenge(of: verifier)
        }
    }

    /// Whether the text is a well-formed challenge or verifier: 43 to 128 unreserved characters.
    var isWellFormed: Bool {
        (43...128).contains(value.utf8.count)
            && value.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }
}
