public import HTTPTransport
import SyncProtocol

extension Company {
    /// Servers that people own, or that their own providers run for them: accounts with storage.
    static let webDAV = Company(
        name: "WebDAV", services: [.webDAV],
        signIn: SignInOffer(
            .webDAV, settings: WebDAVSettings.servers.all,
            trial: TrialGuide([
                TrialGuide.Question(
                    .detail("address"),
                    "Address of the account's files (https://cloud.example.com/remote.php/dav/files/NAME/): "),
                TrialGuide.Question(.detail("user"), "User; empty for a bearer token: ", isOptional: true),
                TrialGuide.Question(.accessToken, "Password, best an app password (is not shown): "),
            ]),
            storage: { values in WebDAV(servers: NamedServers(WebDAVSettings.servers, values)) },
            account: { values, now in
                WebDAVAccount(servers: NamedServers(WebDAVSettings.servers, values), now: now)
            }))
}

extension ExternalService {
    /// Has no hosts of its own: people name them.
    public static let webDAV = ExternalService("webdav", hosts: [])
}

private enum WebDAVSettings {
    static let servers = NamedServers.Settings(
        servers: "webdav.servers", anyPublicServer: "webdav.anyPublicServer",
        question: "WebDAV: the addresses of the servers that people may name, with blanks between them",
        example: "https://cloud.example.com/")
}
