public import HTTPTransport

extension Company {
    /// Microsoft: accounts and OneDrive.
    static let microsoft = Company(name: "Microsoft", services: [.microsoft])
}

extension ExternalService {
    /// Accounts and Graph; after these hosts come those to which OneDrive redirects uploads and downloads.
    public static let microsoft = ExternalService(
        "microsoft",
        hosts: [
            "graph.microsoft.com", "login.microsoftonline.com", "login.live.com", "api.onedrive.com",
            "my.microsoftpersonalcontent.com", ".microsoftpersonalcontent.com", ".sharepoint.com", ".1drv.com",
            ".live.com", ".onedrive.com", ".svc.ms",
        ])
}
