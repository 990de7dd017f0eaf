import FoundationEssentials
public import HTTPTransport
import OpenSSLCrypto
import Providers
public import Store
import SyncProtocol
public import Vault

extension StorageRegistry {
    /// The accounts that a configuration allows and the storage that comes with them.
    ///
    /// The one place where they are put together, so that the server and the operator's tool see the same.
    /// - Parameter unreadable: called for each sealed record that cannot be opened, for statistics.
    /// - Throws: ``ConfigurationError`` if a sealing key cannot be used.
    public init(
        _ configuration: ServerConfiguration, store: Store, backoff: Backoff,
        unreadable: @escaping @Sendable () -> Void = {}
    ) throws(ConfigurationError) {
        self.init(
            store: store, sealer: CredentialSealer(keys: try KeyRing(configuration)), backoff: backoff,
            providers: [GoogleDrive(), Dropbox(), OneDrive()], accounts: Self.accounts(configuration, store),
            unreadable: unreadable)
    }

    private static func accounts(
        _ configuration: ServerConfiguration, _ store: Store
    ) -> [any AccountProvider] {
        var accounts: [any AccountProvider] = []
        if let google = configuration.google {
            accounts.append(
                GoogleAccount(
                    clientID: google.clientID, clientSecret: google.clientSecret.value,
                    otherClientIDs: google.otherClientIDs))
        }
        if let facebook = configuration.facebook {
            accounts.append(
                FacebookAccount(
                    appID: facebook.appID, appSecret: facebook.appSecret.value, graphVersion: facebook.graphVersion))
        }
        if let microsoft = configuration.microsoft {
            accounts.append(
                MicrosoftAccount(clientID: microsoft.clientID, clientSecret: microsoft.clientSecret.value))
        }
        if let dropbox = configuration.dropbox {
            accounts.append(
                DropboxAccount(
                    appKey: dropbox.appKey, appSecret: dropbox.appSecret.value, redirectURI: dropbox.redirectURI,
                    allowsBareTokens: dropbox.allowsBareTokens))
        }
        if let apple = configuration.apple {
            accounts.append(
                AppleAccount(
                    AppleAccount.Registration(
                        clientID: apple.clientID, teamID: apple.teamID, keyID: apple.keyID,
                        key: apple.key, redirectURI: apple.redirectURI),
                    // What one host writes about consent, another one reads.
                    now: { Date(timeIntervalSince1970: Double(store.now.secondsSince1970)) }))
        }
        return accounts
    }
}
