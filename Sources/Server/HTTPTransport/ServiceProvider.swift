/// Somebody else's service, told by the host of a request.
///
/// The one table of whose host is whose: calls are counted by it, limited by it, and what a provider hands out as an address
/// for bytes is accepted by it.
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

    /// The service's hosts; one that begins with a dot stands for every host below it.
    public var hosts: [String] {
        switch self {
        case .google:
            [
                "www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com", "accounts.google.com",
                ".googleapis.com", ".google.com",
            ]
        case .dropbox: ["api.dropboxapi.com", "content.dropboxapi.com", ".dropboxapi.com", ".dropbox.com"]
        // After Graph and the sign-in come the hosts that OneDrive sends uploads and downloads to.
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

    /// Whose host it is, and the entry of ``hosts`` that says so; the host's own name is not kept where it stands for many.
    public static func lookUp(_ host: some StringProtocol) -> (provider: ServiceProvider, entry: String) {
        // Exact names first: Firebase's host lies below one of Google's.
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

    /// Whether `url` may be opened where this service says that bytes are to be had or to be sent.
    public func owns(_ url: String) -> Bool {
        HTTPSAddress(url).map { Self.lookUp($0.host).provider == self } ?? false
    }
}
