import FoundationEssentials
import OpenSSLCrypto
import Testing

@testable import Sandbox

extension TestSandbox {
    /// Stores a key in the file that the sandbox reads the app maker's push keys from.
    func register(_ key: PrivateKey, as name: String) throws {
        try Data(key.pem.utf8).write(to: URL(filePath: directory.path + "/" + name))
    }

    /// The notifications delivered to a device.
    func pushes(to token: String) throws -> [JSONValue] {
        try send("GET", "/sandbox/pushes?token=" + token).json().array ?? []
    }
}

/// A signed token (RFC 7515).
func signedToken(_ header: JSONObject, _ claims: JSONObject, with key: PrivateKey) throws -> String {
    let text = JSONValue.object(header).bytes().base64URL + "." + JSONValue.object(claims).bytes().base64URL
    return try text + "." + key.signature(over: Array(text.utf8)).base64URL
}
