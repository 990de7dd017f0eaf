public import HTTPTransport

extension Company {
    /// Apple: accounts, push.
    static let apple = Company(name: "Apple", services: [.apple, .apns])
}

extension ExternalService {
    /// Sign in with Apple.
    public static let apple = ExternalService("apple", hosts: ["appleid.apple.com", "account.apple.com"])
    /// The Apple Push Notification service.
    public static let apns = ExternalService("apns", hosts: ["api.push.apple.com", "api.sandbox.push.apple.com"])
}
