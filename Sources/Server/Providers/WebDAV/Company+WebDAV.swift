public import HTTPTransport
import SyncProtocol

extension Company {
    /// Servers that people own, or that a hosting provider runs for them: accounts with storage.
    static let webDAV = Company(
        name: "WebDAV", services: [.webDAV],
        signIn: SignInOffer(
            .webDAV,
            settings: WebDAVSettings.servers.all + [
                WebDAVSettings.oauthClientID, WebDAVSettings.oauthClientSecret, WebDAVSettings.oauthTokenEndpoint,
            ], objections: WebDAVSettings.objections,
            trial: TrialGuide(
                [
                    TrialGuide.Question(
                        .detail("address"),
                        "Address of the account's files (https://cloud.example.com/remote.php/dav/files/NAME/): "),
                    TrialGuide.Question(.detail("user"), "User (empty for a bearer token): ", isOptional: true),
                    TrialGuide.Question(.accessToken, "Password, preferably an app password (hidden): "),
                ], renews: true),
            storage: StorageOffer(
                traits: StorageTraits(
                    providerHash: .checkSum, reportsCheckSum: false, mayReportNoHash: false,
                    reportsHashLate: false, reportsFreeBytes: false, isNamedByPerson: true),
                make: { values in WebDAV(servers: NamedServers(WebDAVSettings.servers, values)) }),
            account: { values, now in
                WebDAVAccount(
                    servers: NamedServers(WebDAVSettings.servers, values), oauth: WebDAVSettings.oauthClient(values),
                    now: now)
            }))
}

extension ExternalService {
    /// Has no hosts of its own: people name them.
    public static let webDAV = ExternalService("webdav", hosts: [])
}

private enum WebDAVSettings {
    static let servers = NamedServers.Settings(
        servers: "webdav.servers", anyPublicServer: "webdav.anyPublicServer",
        question: "WebDAV: the addresses of the servers that people may name, separated by blanks",
        example: "https://cloud.example.com/")
    /// The OAuth client at the listed servers.
    static let oauthClientID = Setting("webdav.oauthClientId", .text)
    static let oauthClientSecret = Setting(
        "webdav.oauthClientSecret", .secret(readers: Set(ServerRole.allCases)))
    static let oauthTokenEndpoint = Setting(
        "webdav.oauthTokenEndpoint", .text, objection: WebDAVOAuthClient.objection)

    static func oauthClient(_ values: SettingValues) -> WebDAVOAuthClient? {
        values.optionalText(oauthClientID).map { clientID in
            WebDAVOAuthClient(
                clientID: clientID, clientSecret: values.secret(oauthClientSecret)?.value,
                tokenEndpoint: values.optionalText(oauthTokenEndpoint))
        }
    }

    static func objections(_ values: SettingValues) -> [(setting: Setting, text: String)] {
        let hasMore = [oauthClientSecret, oauthTokenEndpoint].contains { values.optionalText($0) != nil }
        return [
            values.optionalText(oauthClientID) == nil && hasMore
                ? (oauthClientID, "is missing, but the other OAuth settings require it") : nil,
            values.optionalText(oauthClientID) != nil && values.list(servers.servers).isEmpty
                ? (oauthClientID, "has no effect: no server is listed in \(servers.servers.key)") : nil,
        ].compactMap(\.self)
    }
}
