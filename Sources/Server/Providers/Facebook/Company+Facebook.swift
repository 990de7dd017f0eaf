public import HTTPTransport

extension Company {
    /// Facebook: accounts.
    static let facebook = Company(name: "Facebook", services: [.facebook])
}

extension ExternalService {
    public static let facebook = ExternalService(
        "facebook", hosts: ["graph.facebook.com", "limited.facebook.com", "www.facebook.com"])
}
