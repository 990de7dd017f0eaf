public import HTTPTransport

extension Company {
    /// Google: accounts, Drive, push through Firebase.
    static let google = Company(name: "Google", services: [.google, .fcm])
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
