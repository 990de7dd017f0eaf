import Crypto
import Foundation
import SyncProtocol

/// A verifier and its challenge (RFC 7636), new for each code that is requested.
struct ProofKey: Sendable {
    let verifier: CodeVerifier

    /// 32 random octets yield a verifier of 43 characters (RFC 7636, section 4.1).
    init() {
        guard let verifier = CodeVerifier(RandomText.make(octets: 32)) else {
            preconditionFailure("43 characters of base64url are a verifier")
        }
        self.verifier = verifier
    }

    init(verifier: CodeVerifier) { self.verifier = verifier }

    /// The challenge of the method S256 (RFC 7636, section 4.2).
    var challenge: String {
        RandomText.base64URL(Array(SHA256.hash(data: Array(verifier.rawValue.utf8))))
    }
}

/// Unguessable texts.
enum RandomText {
    /// `count` octets from the system's random number generator, as base64url.
    static func make(octets count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return base64URL((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// RFC 4648, section 5, without padding.
    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
