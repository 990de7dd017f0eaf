public import OpenSSLCrypto
import Providers

extension KeyRing {
    /// The sealing key of a configuration, with the former keys and the next one, whose records can also be opened.
    /// - Throws: ``ConfigurationError`` naming the setting whose key is unusable.
    public init(_ configuration: ServerConfiguration) throws(ConfigurationError) {
        let current = try Self.key(configuration.sealingKey, setting: "sealing.keyFile")
        var former: [SealingKey] = []
        for (index, secret) in configuration.formerSealingKeys.enumerated() {
            former.append(try Self.key(secret, setting: "sealing.formerKeyFiles, number \(index + 1)"))
        }
        if let next = configuration.nextSealingKey {
            former.append(try Self.key(next, setting: "sealing.nextKeyFile"))
        }
        self.init(current: current, older: former)
    }

    private static func key(_ secret: Secret, setting: String) throws(ConfigurationError) -> SealingKey {
        do { return try SealingKey(base64: secret.value) } catch {
            throw ConfigurationError(
                path: "configuration", problems: ["\(setting) cannot be used: \(SettingsReader.sealingKeyRule)"])
        }
    }
}
