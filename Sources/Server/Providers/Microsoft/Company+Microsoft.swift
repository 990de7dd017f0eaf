public import HTTPTransport
import SyncProtocol

extension Company {
    /// Microsoft: accounts with OneDrive.
    static let microsoft = Company(
        name: "Microsoft", services: [.microsoft],
        signIn: SignInOffer(
            .microsoft,
            settings: [
                MicrosoftSettings.clientID, MicrosoftSettings.clientSecret, MicrosoftSettings.redirectURI,
                MicrosoftSettings.allowsIDTokens,
            ],
            trial: TrialGuide(
                consent: TrialGuide.ConsentPage(
                    "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
                    clientID: MicrosoftSettings.clientID,
                    scopes: [
                        "openid", "profile", "offline_access", "https://graph.microsoft.com/User.Read",
                        "https://graph.microsoft.com/Files.ReadWrite.AppFolder",
                    ]),
                tokensNameTheirApp: true),
            storage: StorageOffer(
                traits: StorageTraits(
                    providerHash: .quickXor, reportsCheckSum: false, mayReportNoHash: false,
                    reportsHashLate: true, reportsFreeBytes: true, isNamedByPerson: false),
                make: { _ in OneDrive() }),
            account: { values, _ in
                MicrosoftAccount(
                    clientID: values.text(MicrosoftSettings.clientID),
                    clientSecret: values.secretText(MicrosoftSettings.clientSecret),
                    redirectURI: values.optionalText(MicrosoftSettings.redirectURI),
                    allowsIDTokens: values.flag(MicrosoftSettings.allowsIDTokens))
            }))
}

extension ExternalService {
    /// Accounts and Graph, followed by the hosts to which OneDrive redirects uploads and downloads.
    public static let microsoft = ExternalService(
        "microsoft",
        hosts: [
            "graph.microsoft.com", "login.microsoftonline.com", "login.live.com", "api.onedrive.com",
            "my.microsoftpersonalcontent.com", ".microsoftpersonalcontent.com", ".sharepoint.com", ".1drv.com",
            ".live.com", ".onedrive.com", ".svc.ms",
        ])
}

private enum MicrosoftSettings {
    static let clientID = Setting.required(
        "MicrosoftClientId",
        SetupQuestion(
            "Microsoft: the application ID", form: .microsoftApplicationID,
            sandbox: "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e",
            option: SetupOption("microsoft-client-id", "id", "The Microsoft application id.")))
    static let clientSecret = Setting.secret(
        "MicrosoftClientSecret",
        .secret(
            fileName: "microsoft-client-secret", sandbox: "sandbox~microsoft+secret/=",
            option: "microsoft-client-secret-file"))
    /// For callers that request codes without naming a redirect URI.
    static let redirectURI = Setting("MicrosoftRedirectURI", .redirectURI)
    /// Whether ID tokens are exchanged.
    static let allowsIDTokens = Setting("allowMicrosoftIdTokens", .bool(default: true))
}
