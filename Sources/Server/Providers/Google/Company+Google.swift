public import HTTPTransport
import SyncProtocol

extension Company {
    /// Google: accounts with Drive, and push through Firebase.
    static let google = Company(
        name: "Google", services: [.google, .fcm],
        signIn: SignInOffer(
            .google,
            settings: [GoogleSettings.clientID, GoogleSettings.clientSecret, GoogleSettings.appClientIDs],
            trial: TrialGuide(
                consent: TrialGuide.ConsentPage(
                    "https://accounts.google.com/o/oauth2/v2/auth", clientID: GoogleSettings.clientID,
                    scopes: ["openid", "profile", "https://www.googleapis.com/auth/drive.file"],
                    // Google issues a refresh token only with the first consent, or when the person is asked again.
                    parameters: [("access_type", "offline"), ("prompt", "consent")]),
                tokensNameTheirApp: true),
            storage: StorageOffer(
                traits: StorageTraits(
                    providerHash: .checkSum, reportsCheckSum: true, mayReportNoHash: false,
                    reportsHashLate: false, reportsFreeBytes: true, isNamedByPerson: false),
                make: { _ in GoogleDrive() }),
            account: { values, _ in
                GoogleAccount(
                    clientID: values.text(GoogleSettings.clientID),
                    clientSecret: values.secretText(GoogleSettings.clientSecret),
                    otherClientIDs: values.list(GoogleSettings.appClientIDs))
            }),
        push: PushOffer(
            section: "fcm", settings: [GoogleSettings.serviceAccount],
            install: { values, services, now in
                if let account = try? ServiceAccount(json: values.secretText(GoogleSettings.serviceAccount)) {
                    services.fcm = FCM(account: account, now: now)
                } else {
                    services.elsewhere.insert(.fcm)
                }
            }))
}

extension ExternalService {
    /// Accounts and Drive.
    public static let google = ExternalService(
        "google",
        hosts: [
            "www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com", "accounts.google.com",
            ".googleapis.com", ".google.com",
        ], except: ["fcm.googleapis.com"])
    /// Push through Firebase.
    public static let fcm = ExternalService("fcm", hosts: ["fcm.googleapis.com"])
}

private enum GoogleSettings {
    static let clientID = Setting.required(
        "GoogleServerClientId",
        SetupQuestion(
            "Google: the server's OAuth client ID", form: .googleClientID,
            sandbox: "1234567890-server.apps.googleusercontent.com",
            option: SetupOption("google-client-id", "id", "The server's Google OAuth client id.")))
    static let clientSecret = Setting.secret(
        "GoogleServerClientSecret",
        .secret(
            fileName: "google-client-secret", sandbox: "sandbox-google-secret", option: "google-client-secret-file"))
    static let appClientIDs = Setting(
        "googleClientIds", .texts,
        question: SetupQuestion(
            "Google: client IDs of apps in other projects, separated by blanks", .list,
            form: .googleClientID, sandbox: "1234567890-ios.apps.googleusercontent.com",
            option: SetupOption(
                "google-app-client-id", "id", "A Google OAuth client id of an app; can be repeated.")))
    /// JSON as issued by Google's console.
    static let serviceAccount = Setting.secret(
        "fcm.serviceAccount", readers: [.jobs],
        SetupQuestion(
            "Push through Firebase: the file of the service account (JSON)", .file(fileName: "fcm-service-account"),
            option: .file(
                "fcm-service-account-file", "For push through Firebase: the service account, a JSON file.")),
        objection: { text in
            do throws(ServiceAccount.Unusable) {
                _ = try ServiceAccount(json: text)
                return nil
            } catch {
                return error.description
            }
        })
}
