import FoundationEssentials
public import HTTPTransport
import OpenSSLCrypto
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
                offer.makeStorage?(configuration.accounts[offer.accountType] ?? SettingValues())
            },
            accounts: Company.signIns.compactMap { offer in
                // The database's clock, since one host reads the dates that another one writes.
                configuration.accounts[offer.accountType].flatMap { values in
                    offer.makeAccount(values) { Date(timeIntervalSince1970: Double(store.now.secondsSince1970)) }
                }
            }, unreadable: unreadable)
    }
}
