public import HTTPTransport
import JSONWebTokens
import SyncProtocol

extension Company {
    /// Apple: accounts and push.
    static let apple = Company(
        name: "Apple", services: [.apple, .apns],
        signIn: SignInOffer(
            .appleSignIn,
            settings: [
                SignInWithAppleSettings.clientID, SignInWithAppleSettings.otherClientIDs,
                SignInWithAppleSettings.teamID, SignInWithAppleSettings.keyID, SignInWithAppleSettings.privateKey,
                SignInWithAppleSettings.redirectURI,
            ],
            trial: TrialGuide(
                [
                    TrialGuide.Question(.accessToken, "Identity token from the app (hidden): "),
                    TrialGuide.Question(
                        .authorizationCode, "Authorization code, at most five minutes old (hidden): ",
                        isOptional: true),
                ], hasCodes: true, tokensNameTheirApp: true),
            account: { values, now in
                guard let key = try? SigningKey(es256PEM: values.secretText(SignInWithAppleSettings.privateKey)) else {
                    return nil
                }
                return AppleAccount(
                    AppleAccount.Registration(
                        clientID: values.text(SignInWithAppleSettings.clientID),
                        otherClientIDs: values.list(SignInWithAppleSettings.otherClientIDs),
                        teamID: values.text(SignInWithAppleSettings.teamID),
                        keyID: values.text(SignInWithAppleSettings.keyID), key: key,
                        redirectURI: values.optionalText(SignInWithAppleSettings.redirectURI)),
                    now: now)
            }),
        push: PushOffer(
            section: "apns",
            settings: [
                APNsSettings.teamID, APNsSettings.keyID, APNsSettings.privateKey, APNsSettings.topic,
                APNsSettings.otherTopics, APNsSettings.environment,
            ],
            install: { values, services, now in
                guard let key = try? SigningKey(es256PEM: values.secretText(APNsSettings.privateKey)) else {
                    services.elsewhere.insert(.apns)
                    return
                }
                services.apns = APNs(
                    teamID: values.text(APNsSettings.teamID), keyID: values.text(APNsSettings.keyID), key: key,
                    topics: [values.text(APNsSettings.topic)] + values.list(APNsSettings.otherTopics),
                    environment: values.text(APNsSettings.environment) == "sandbox" ? .sandbox : .production, now: now)
            }))
}

extension ExternalService {
    /// Sign in with Apple.
    public static let apple = ExternalService("apple", hosts: ["appleid.apple.com", "account.apple.com"])
    /// The Apple Push Notification service.
    public static let apns = ExternalService("apns", hosts: ["api.push.apple.com", "api.sandbox.push.apple.com"])
}

private enum SignInWithAppleSettings {
    /// The app's bundle identifier.
    static let clientID = Setting.required(
        "appleSignIn.clientId",
        SetupQuestion(
            "Sign in with Apple: the app's identifier", form: .appleIdentifier,
            option: SetupOption("apple-client-id", "id", "For Sign in with Apple: the app's identifier.")))
    /// Services IDs for Android and the web, and bundle identifiers of the team's other apps.
    static let otherClientIDs = Setting("appleSignIn.otherClientIds", .texts)
    static let teamID = Setting.required(
        "appleSignIn.teamId",
        SetupQuestion(
            "Apple: the team ID", form: .appleTenCharacters,
            option: SetupOption("apple-team-id", "id", "The ID of the Apple developer team.")))
    static let keyID = Setting.required(
        "appleSignIn.keyId",
        SetupQuestion(
            "Apple: the key ID", form: .appleTenCharacters,
            option: SetupOption("apple-key-id", "id", "The ID of the key for Sign in with Apple.")))
    static let privateKey = Setting.secret(
        "appleSignIn.privateKey",
        SetupQuestion(
            "Apple: the key file (.p8)", .file(fileName: "apple-private-key"),
            option: .file("apple-private-key-file", "The .p8 file with that key.")), objection: p8Objection)
    /// Older servers' files contain an empty string if no redirect URI is used.
    static let redirectURI = Setting("appleSignIn.redirectURI", .text)
}

private enum APNsSettings {
    static let teamID = Setting.required(
        "apns.teamId",
        SetupQuestion(
            "Push through Apple: the team ID", form: .appleTenCharacters,
            option: SetupOption("apns-team-id", "id", "For push through Apple: the ID of the developer team.")))
    static let keyID = Setting.required(
        "apns.keyId",
        SetupQuestion(
            "Apple: the ID of the push key", form: .appleTenCharacters,
            option: SetupOption("apns-key-id", "id", "The ID of the push key.")))
    static let privateKey = Setting.secret(
        "apns.privateKey", readers: [.jobs],
        SetupQuestion(
            "Apple: the file of the push key (.p8)", .file(fileName: "apns-private-key"),
            option: .file("apns-private-key-file", "The .p8 file with that key.")),
        objection: p8Objection)
    /// The app's bundle identifier.
    static let topic = Setting.required(
        "apns.topic",
        SetupQuestion(
            "Apple: the app's bundle identifier", form: .appleIdentifier,
            option: SetupOption("apns-topic", "id", "The topic: the app's bundle identifier.")))
    /// Bundle identifiers of the team's other apps.
    static let otherTopics = Setting("apns.otherTopics", .texts)
    /// The environment of devices that have not reported their own.
    static let environment = Setting(
        "apns.environment", .text,
        objection: { ["production", "sandbox"].contains($0) ? nil : "must be production or sandbox" })
}

/// Checks the key that signs the tokens for Apple's services.
@Sendable private func p8Objection(_ text: String) -> String? {
    (try? SigningKey(es256PEM: text)) == nil ? "it must be a P-256 key in PEM, the .p8 file from Apple" : nil
}
