public import HTTPTransport
import SyncProtocol

extension Company {
    /// Dropbox: accounts with storage.
    static let dropbox = Company(
        name: "Dropbox", services: [.dropbox],
        signIn: SignInOffer(
            .dropbox,
            settings: [
                DropboxSettings.appKey, DropboxSettings.appSecret, DropboxSettings.redirectURI,
                DropboxSettings.allowsBareTokens,
            ],
            trial: TrialGuide(
                consent: TrialGuide.ConsentPage(
                    "https://www.dropbox.com/oauth2/authorize", clientID: DropboxSettings.appKey,
                    scopes: ["account_info.read", "files.metadata.read", "files.content.read", "files.content.write"],
                    parameters: [("token_access_type", "offline")], showsCode: true),
                tokensNameTheirApp: false),
            storage: StorageOffer(
                traits: StorageTraits(
                    providerHash: .checkSum, reportsCheckSum: true, mayReportNoHash: false,
                    reportsHashLate: false, reportsFreeBytes: true, isNamedByPerson: false),
                make: { _ in Dropbox() }),
            account: { values, _ in
                DropboxAccount(
                    appKey: values.text(DropboxSettings.appKey),
                    appSecret: values.secretText(DropboxSettings.appSecret),
                    redirectURI: values.optionalText(DropboxSettings.redirectURI),
                    allowsBareTokens: values.flag(DropboxSettings.allowsBareTokens))
            }))
}

extension ExternalService {
    public static let dropbox = ExternalService(
        "dropbox",
        hosts: [
            "api.dropboxapi.com", "content.dropboxapi.com", ".dropboxapi.com", ".dropbox.com",
            ".dropboxusercontent.com",
        ])
}

private enum DropboxSettings {
    static let appKey = Setting.required(
        "DropboxAppKey",
        SetupQuestion(
            "Dropbox: the app key", form: .dropboxAppKey, sandbox: "sandboxdropboxkey",
            option: SetupOption("dropbox-app-key", "key", "The Dropbox app key.")))
    static let appSecret = Setting.secret(
        "DropboxAppSecret",
        .secret(
            fileName: "dropbox-app-secret", sandbox: "sandbox-dropbox-secret", option: "dropbox-app-secret-file"))
    /// For callers that request codes without naming a redirect URI.
    static let redirectURI = Setting("DropboxRedirectURI", .redirectURI)
    /// Whether a token without a code suffices.
    static let allowsBareTokens = Setting("allowDropboxBareTokens", .bool(default: true))
}
