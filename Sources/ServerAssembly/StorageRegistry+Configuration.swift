import Accounts
import CloudStorage
public import HTTPTransport
import OpenSSLCrypto
public import ServerConfiguration
public import Store
public import UserStorage

extension StorageRegistry {
    /// The accounts that a configuration allows and the storage that comes with them.
    ///
    /// The one place where they are put together, so that the server and the operator's tool see the same.
    /// - Throws: ``ConfigurationError`` if a sealing key cannot be used.
    public init(
        _ configuration: ServerConfiguration, store: Store, backoff: Backoff
    ) throws(ConfigurationError) {
        self.init(
            store: store, sealer: CredentialSealer(keys: try KeyRing(configuration)), backoff: backoff,
            providers: [GoogleDrive(), Dropbox(), OneDrive()], accounts: Self.accounts(configuration))
    }

    private static func accounts(_ configuration: ServerConfiguration) -> [any AccountProvider] {
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
                        key: apple.key, redirectURI: apple.redirectURI)))
        }
        return accounts
    }
}
