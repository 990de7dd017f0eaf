public import Curl
import FoundationEssentials
public import HTTPTransport
public import OpenSSLCrypto
import Providers
public import Store
import SyncProtocol
public import Vault

extension StorageRegistry {
    /// The accounts that a configuration allows, with their storage.
    ///
    /// The only place that assembles them, so that the server and the operator's tool see the same.
    /// - Parameter unreadable: called for each sealed record that cannot be opened, for statistics.
    /// - Throws: ``ConfigurationError`` if a sealing key cannot be used.
    public init(
        _ configuration: ServerConfiguration, store: MetadataStore, backoff: Backoff,
        unreadable: @escaping @Sendable () -> Void = {}
    ) throws(ConfigurationError) {
        self.init(
            store: store, sealer: CredentialSealer(keys: try KeyRing(configuration)), backoff: backoff,
            providers: Company.signIns.compactMap { offer in
                offer.storage?.make(configuration.accounts[offer.accountType] ?? SettingValues())
            },
            accounts: Company.signIns.compactMap { offer in
                // The database's clock, since one host reads the dates that another one writes.
                configuration.accounts[offer.accountType].flatMap { values in
                    offer.makeAccount(values) { Date(timeIntervalSince1970: Double(store.now.secondsSince1970)) }
                }
            }, unreadable: unreadable)
    }
}

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

extension Routing {
    /// Routes to the emulated providers if the configuration names them; otherwise to the hosts in the URLs.
    public init(_ sandbox: ServerConfiguration.Sandbox?) {
        self = sandbox.map { Routing(connectTo: "\($0.host):\($0.port)", caFile: $0.caFile) } ?? .direct
    }
}
