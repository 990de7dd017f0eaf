public import HTTPTransport

extension Company {
    /// Amazon: push.
    static let amazon = Company(name: "Amazon", services: [.sns])
}

extension ExternalService {
    /// The Simple Notification Service.
    public static let sns = ExternalService("sns", hosts: [".amazonaws.com"])
}
