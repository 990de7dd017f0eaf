import Operations
import Posix
import Providers

/// Reads the secrets that the answers refer to, from any source.
struct SetupSecrets {
    /// Typed in, or read from a predecessor's configuration; by the name of the file for each.
    var typed: [String: Secret] = [:]

    /// - Throws: ``SetupFailure`` if the secret is missing or empty.
    func read(_ source: SetupAnswers.SecretSource) throws(SetupFailure) -> Secret {
        switch source {
        case .wellKnown(let text): return Secret(text)
        case .typed(let name):
            guard let secret = typed[name], !secret.value.isEmpty else {
                throw SetupFailure("no secret was entered for \(name)")
            }
            return secret
        case .file(let path, let giver):
            let file = giver.map { "\($0) names \(path), which" } ?? path
            let bytes: [UInt8]
            do { bytes = try TextFile.read(path) } catch { throw SetupFailure("\(file) cannot be read: \(error)") }
            let secret = Secret(Self.text(bytes))
            guard !secret.value.isEmpty else { throw SetupFailure("\(file) is empty") }
            return secret
        }
    }

    /// The text of a secret's file, without its line end.
    static func text(_ bytes: [UInt8]) -> String {
        var bytes = bytes
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
