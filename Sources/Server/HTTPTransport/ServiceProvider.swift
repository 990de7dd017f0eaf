/// An external service, identified by the host of a request.
///
/// The only table that maps hosts to services: calls are counted and limited by it, and it decides whether an address
/// that a provider returns for uploads or downloads is accepted.
public enum ServiceProvider: String, Sendable, CaseIterable {
    case google
    case dropbox
    case microsoft
    case facebook
    case apple
    case apns
    case fcm
    case sns
    case other

    /// The service's hosts; an entry that begins with a dot matches every host below it.
    public var hosts: [String] {
        switch self {
        case .google:
            [
                "www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com", "accounts.google.com",
                ".googleapis.com", ".google.com",
            ]
        case .dropbox: ["api.dropboxapi.com", "content.dropboxapi.com", ".dropboxapi.com", ".dropbox.com"]
        // After Graph and the sign-in host come the hosts that OneDrive redirects uploads and downloads to.
        case .microsoft:
            [
                "graph.microsoft.com", "login.microsoftonline.com", "login.live.com", "api.onedrive.com",
                "my.microsoftpersonalcontent.com", ".microsoftpersonalcontent.com", ".sharepoint.com", ".1drv.com",
                ".live.com", ".onedrive.com", ".svc.ms",
            ]
        case .facebook: ["graph.facebook.com", "limited.facebook.com", "www.facebook.com"]
        case .apple: ["appleid.apple.com", "account.apple.com"]
        case .apns: ["api.push.apple.com", "api.sandbox.push.apple.com"]
        case .fcm: ["fcm.googleapis.com"]
        case .sns: [".amazonaws.com"]
        case .other: []
        }
    }

    /// The service that the host belongs to, and the matching entry of ``hosts``; for an entry that matches many hosts,
    /// the host's own name is not kept.
    public static func lookUp(_ host: some StringProtocol) -> (provider: ServiceProvider, entry: String) {
        // Exact names first: Firebase's host is below one of Google's.
        for provider in allCases {
            if let entry = provider.hosts.first(where: { $0 == host }) { return (provider, entry) }
        }
        for provider in allCases {
            if let entry = provider.hosts.first(where: { $0.hasPrefix(".") && host.hasSuffix($0) }) {
                return (provider, entry)
            }
        }
        return (.other, "other")
    }

    /// Whether `url`, which this service returned for an upload or a download, may be opened.
    public func owns(_ url: String) -> Bool {
        HTTPSAddress(url).map { Self.lookUp($0.host).provider == self } ?? false
    }
}
