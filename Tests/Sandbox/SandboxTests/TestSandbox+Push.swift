import FoundationEssentials
import OpenSSLCrypto
import Testing

@testable import Sandbox

extension TestSandbox {
    /// Puts a key where the app maker's keys for push are looked for.
    func register(_ key: PrivateKey, as name: String) throws {
        try Data(key.pem.utf8).write(to: URL(filePath: directory.path + "/" + name))
    }

    /// What arrived at a device.
    func pushes(to token: String) throws -> [JSONValue] {
        try send("GET", "/sandbox/pushes?token=" + token).json().array ?? []
    }
}

/// A signed token (RFC 7515).
func signedToken(_ header: JSONObject, _ claims: JSONObject, with key: PrivateKey) throws -> String {
    let text = JSONValue.object(header).bytes().base64URL + "." + JSONValue.object(claims).bytes().base64URL
    return try text + "." + key.signature(over: Array(text.utf8)).base64URL
}
