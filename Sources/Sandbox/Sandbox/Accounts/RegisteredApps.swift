/// The app maker's registrations at the emulated providers: fixed and public.
public enum RegisteredApps {
    /// The server's OAuth client at Google.
    public static let googleServerClientID = "1234567890-server.apps.googleusercontent.com"
    /// Its secret.
    public static let googleServerSecret = "sandbox-google-secret"
    /// The iOS app's OAuth client at Google, in the same Cloud project.
    public static let googleIOSClientID = "1234567890-ios.apps.googleusercontent.com"
    /// The OAuth client at Google for programs on computers, in the same Cloud project, of the type "Desktop app".
    public static let googleDesktopClientID = "1234567890-desktop.apps.googleusercontent.com"
    /// Its secret, which every copy of the program contains, and which is therefore not secret ("… for Mobile & Desktop
    /// Apps").
    public static let googleDesktopSecret = "sandbox-google-desktop-secret"
    /// Facebook app ID.
    public static let facebookAppID = "123456789012345"
    /// Its secret.
    public static let facebookSecret = "sandbox-facebook-secret"
    /// The https address that a phone passes to the app: the redirect URI of the server's clients.
    static let webSessionRedirect = "https://app.sandbox.test/oauth"
    /// The app's bundle identifier at Apple.
    public static let appleClientID = "com.example.sandbox"
    /// The app's Services ID for Android and the web.
    public static let appleServicesID = "com.example.sandbox.web"
    static let appleClientIDs: Set = [appleClientID, appleServicesID]
    /// The app maker's team at Apple.
    public static let appleTeamID = "SANDBOX123"
    /// The name of the key for client secrets; the key itself is stored in the state directory.
    public static let appleKeyID = "SANDBOXKEY"
    /// Microsoft application (client) ID, shared by the app and the server.
    public static let microsoftClientID = "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e"
    /// The server's secret; contains characters that must be escaped in a form.
    public static let microsoftSecret = "sandbox~microsoft+secret/="
    /// The name of the app's folder in OneDrive.
    public static let microsoftAppName = "Sandbox App"
    /// Scopes that a Microsoft account grants by default.
    public static let microsoftScopes = [
        "openid", "profile", "email", "offline_access", "User.Read", "Files.ReadWrite.AppFolder",
    ]
    /// Dropbox app key.
    public static let dropboxAppKey = "sandboxdropboxkey"
    /// Its secret.
    public static let dropboxSecret = "sandbox-dropbox-secret"
    /// The key of a different Dropbox app.
    public static let otherDropboxAppKey = "anotherdropboxkey"
    /// Scopes that a Dropbox account grants by default.
    public static let dropboxScopes = [
        "account_info.read", "files.metadata.read", "files.content.read", "files.content.write",
    ]
    /// An OAuth 2.0 client of the Nextcloud server.
    struct NextcloudClient: Sendable {
        let id: String
        let secret: String
        let holder: TokenHolder
        /// The registered redirect URI, without a port.
        let redirectWithoutPort: String
    }

    /// SyncServer's client at the Nextcloud server.
    public static let nextcloudServerClientID = "sandboxNextcloudServer0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
    /// Its secret.
    public static let nextcloudServerSecret = "sandboxNextcloudSecret0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
    /// The client at the Nextcloud server for programs on computers.
    public static let nextcloudProgramClientID = "sandboxNextcloudProgram0123456789abcdefghijklmnopqrstuvwxyzABCDE"
    /// Its secret, which every copy of the program contains, and which is therefore not secret.
    public static let nextcloudProgramSecret = "sandboxNextcloudProgramSecret0123456789abcdefghijklmnopqrstuvwxy"
    static let nextcloudClients = [
        NextcloudClient(
            id: nextcloudServerClientID, secret: nextcloudServerSecret, holder: .server,
            redirectWithoutPort: "http://127.0.0.1/server"),
        NextcloudClient(
            id: nextcloudProgramClientID, secret: nextcloudProgramSecret, holder: .program,
            redirectWithoutPort: "http://127.0.0.1/program"),
    ]
    /// Apple's developer team, for the app and the push key.
    public static let apnsTeamID = "SANDBOX123"
    /// The push key; the key itself is a file in the state directory, see docs/sandbox.md.
    public static let apnsKeyID = "SANDBOXAPN"
    /// The app's bundle identifier, the topic of notifications.
    public static let apnsTopic = "com.example.sandbox"
    /// A different app of the team.
    public static let otherAPNsTopic = "com.example.sandbox.second"
    static let apnsTopics: Set = [apnsTopic, otherAPNsTopic]
    /// The Firebase project.
    public static let fcmProject = "sandbox-project"
    /// The server's service account; its key is also a file.
    public static let fcmServiceAccount = "syncserver@sandbox-project.iam.gserviceaccount.com"
    /// Scopes that a Google account grants by default.
    public static let googleScopes = [
        "openid", "https://www.googleapis.com/auth/userinfo.email", "https://www.googleapis.com/auth/userinfo.profile",
        "https://www.googleapis.com/auth/drive.file",
    ]

    /// The app for which an account's tokens are issued by default.
    static func standardAudience(_ provider: Provider) -> String {
        switch provider {
        case .google: googleIOSClientID
        case .dropbox: dropboxAppKey
        case .microsoft: microsoftClientID
        case .apple: appleClientID
        case .facebook: facebookAppID
        case .webdav: ""
        }
    }

    /// The scopes that an account grants by default.
    static func standardScopes(_ provider: Provider) -> [String] {
        switch provider {
        case .google: googleScopes
        case .dropbox: dropboxScopes
        case .microsoft: microsoftScopes
        case .webdav: []
        case .facebook, .apple: ["public_profile", "email"]
        }
    }

    /// The Cloud project of a Google client ID: the part before the first hyphen.
    static func project(of clientID: String) -> String { String(clientID.prefix { $0 != "-" }) }

    /// The client for which an app's authorization codes are issued: the server's client in the same project.
    static func serverClientID(for audience: String) -> String {
        project(of: audience) == project(of: googleServerClientID)
            ? googleServerClientID : project(of: audience) + "-server.apps.googleusercontent.com"
    }
}

/// The redirect URIs that the app maker has registered with the emulated providers that keep such a list.
struct RegisteredRedirects: Sendable, Equatable {
    /// Google: those of the server's client, which is a web client. Dropbox: those of the app. Compared in full.
    private(set) var exact: [Provider: [String]] = [
        .google: ["http://127.0.0.1:53682/server", RegisteredApps.webSessionRedirect],
        .dropbox: [
            "http://127.0.0.1:53682/server", "http://127.0.0.1:53682/program",
            "db-\(RegisteredApps.dropboxAppKey)://2/token",
        ],
    ]

    func contains(_ uri: String, _ provider: Provider) -> Bool { exact[provider]?.contains(uri) ?? false }

    /// Registers an additional URI, as in the provider's console.
    mutating func add(_ uri: String, _ provider: Provider) {
        if !contains(uri, provider) { exact[provider, default: []].append(uri) }
    }

    /// The stored and displayed form.
    var json: JSONValue {
        var json: JSONObject = [:]
        for provider in Provider.allCases {
            guard let uris = exact[provider] else { continue }
            json[provider.rawValue] = .array(uris.map { .string($0) })
        }
        return .object(json)
    }

    init() {}

    init(json: JSONValue) {
        self.init()
        for provider in [Provider.google, .dropbox] {
            for uri in json[provider.rawValue]?.array?.compactMap(\.string) ?? [] { add(uri, provider) }
        }
    }
}

extension SandboxSettings {
    func isRegistered(_ uri: String, _ provider: Provider) -> Bool { redirects.contains(uri, provider) }
}
