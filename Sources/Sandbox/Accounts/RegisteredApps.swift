/// The app maker's registrations at the emulated providers: fixed, and no secret to anybody.
public enum RegisteredApps {
    /// Google OAuth client of the server.
    public static let googleServerClientID = "1234567890-server.apps.googleusercontent.com"
    /// Its secret.
    public static let googleServerSecret = "sandbox-google-secret"
    /// Google OAuth client of the iOS app, of the same Cloud project.
    public static let googleIOSClientID = "1234567890-ios.apps.googleusercontent.com"
    /// Facebook app id.
    public static let facebookAppID = "123456789012345"
    /// Its secret.
    public static let facebookSecret = "sandbox-facebook-secret"
    /// Apple's developer team, of the app and of the key for push.
    public static let apnsTeamID = "SANDBOX123"
    /// The key for push; the key itself is a file in the state directory, see docs/sandbox.md.
    public static let apnsKeyID = "SANDBOXAPN"
    /// The app's bundle identifier, which is what notifications are sent to.
    public static let apnsTopic = "com.example.sandbox"
    /// The Firebase project.
    public static let fcmProject = "sandbox-project"
    /// The service account of the server; its key is a file as well.
    public static let fcmServiceAccount = "syncserver@sandbox-project.iam.gserviceaccount.com"
    /// Scopes that a Google account grants if it is not told otherwise.
    public static let googleScopes = [
        "openid", "https://www.googleapis.com/auth/userinfo.email", "https://www.googleapis.com/auth/userinfo.profile",
        "https://www.googleapis.com/auth/drive.file",
    ]

    /// The Cloud project of a Google client id: what stands before the first hyphen.
    static func project(of clientID: String) -> String { String(clientID.prefix { $0 != "-" }) }

    /// The client for which an app's authorization codes are made: its project's server.
    static func serverClientID(for audience: String) -> String {
        project(of: audience) == project(of: googleServerClientID)
            ? googleServerClientID : project(of: audience) + "-server.apps.googleusercontent.com"
    }
}
