internal import FoundationEssentials
internal import OpenSSLCrypto
internal import Posix
internal import Synchronization

/// The keys with which an emulated provider signs identity tokens.
///
/// Each generation is one RSA key, created on first use and kept on disk. The current and the previous key are
/// published, since tokens outlive a key rotation.
final class IdentityTokenKeys: Sendable {
    /// One key and its name.
    struct Current: Sendable {
        let id: String
        let key: PrivateKey
        /// Whether it deliberately creates invalid signatures.
        var isWrong = false

        /// A token with these claims (RFC 7515, section 7.1), signed with RS256.
        func sign(_ claims: JSONObject) -> String {
            let header: JSONValue = ["typ": "JWT", "alg": "RS256", "kid": .string(id)]
            let text = header.bytes().base64URL + "." + JSONValue.object(claims).bytes().base64URL
            guard var signature = try? key.signature(over: Array(text.utf8)) else { return text + "." }
            if isWrong { signature[0] ^= 1 }
            return text + "." + signature.base64URL
        }
    }

    private let directory: StateDirectory
    private let provider: Provider
    private let issuer: String?
    private let keys = Mutex<[Int: Current]>([:])

    /// - Parameter issuer: the published issuer of each key, if any.
    init(of provider: Provider, issuer: String? = nil, directory: StateDirectory) {
        self.provider = provider
        self.issuer = issuer
        self.directory = directory
    }

    /// The key of a generation.
    func key(_ generation: Int) throws(StorageError) -> Current {
        try keys.withLock { keys throws(StorageError) in
            if let known = keys[generation] { return known }
            let path = directory.path + "/\(provider.rawValue)-key-\(generation).json"
            if let pem = directory.readJSON(path)?["pem"]?.string, let key = try? PrivateKey(pem: pem) {
                keys[generation] = Current(id: id(generation), key: key)
            } else {
                let made: (key: PrivateKey, pem: String)
                do {
                    let key = try PrivateKey(generating: .rs256)
                    made = (key, try key.pem)
                } catch { throw StorageError(description: "no key: \(error)") }
                try directory.write(["pem": .string(made.pem)], to: path)
                keys[generation] = Current(id: id(generation), key: made.key)
            }
            guard let key = keys[generation] else { throw StorageError(description: "no key") }
            return key
        }
    }

    private func id(_ generation: Int) -> String { "sandbox-\(provider.rawValue)-\(generation)" }

    /// The published keys (RFC 7517).
    func published(_ generation: Int) throws -> JSONValue {
        var list: [JSONValue] = []
        for number in max(0, generation - 1)...generation {
            let current = try key(number)
            var members: JSONObject = ["use": "sig", "kid": .string(current.id), "x5t": .string(current.id)]
            for member in try current.key.publicKey.webKeyMembers { members[member.name] = .string(member.value) }
            members["issuer"] = .string(issuer)
            list.append(.object(members))
        }
        return ["keys": .array(list)]
    }
}

extension SandboxServer {
    /// The current signing key.
    func microsoftKeys() throws(StorageError) -> IdentityTokenKeys.Current {
        var key = try microsoftKeyStore.key(withState { $0.settings.microsoftKeyGeneration })
        key.isWrong = breaks.contains(.wrongIDToken)
        return key
    }
}
