public import HTTPTransport
import SyncProtocol

extension Company {
    /// Facebook: accounts.
    static let facebook = Company(
        name: "Facebook", services: [.facebook],
        signIn: SignInOffer(
            .facebook, settings: [FacebookSettings.appID, FacebookSettings.appSecret, FacebookSettings.graphVersion],
            trial: TrialGuide(
                [TrialGuide.Question(.accessToken, "Access token, or Limited Login token (hidden): ")],
                tokensNameTheirApp: true),
            account: { values, _ in
                FacebookAccount(
                    appID: values.text(FacebookSettings.appID),
                    appSecret: values.secretText(FacebookSettings.appSecret),
                    graphVersion: values.optionalText(FacebookSettings.graphVersion) ?? "v25.0")
            }))
}

extension ExternalService {
    public static let facebook = ExternalService(
        "facebook", hosts: ["graph.facebook.com", "limited.facebook.com", "www.facebook.com"])
}

private enum FacebookSettings {
    static let appID = Setting.required(
        "FacebookClientId",
        SetupQuestion(
            "Facebook: the app ID", form: .facebookAppID, sandbox: "123456789012345",
            option: SetupOption("facebook-app-id", "id", "The Facebook app id.")))
    /// The jobs role does not need it, because it signs nobody in.
    static let appSecret = Setting.secret(
        "FacebookClientSecret", readers: [.api, .transfer],
        .secret(
            fileName: "facebook-client-secret", sandbox: "sandbox-facebook-secret",
            option: "facebook-app-secret-file"))
    /// The version of the Graph API, such as `v25.0`.
    static let graphVersion = Setting("facebookGraphVersion", .text)
}
