public import HTTPTransport

/// A company whose services the server uses. Each has a folder with its description and its adapters; ``all`` is the
/// only list of companies.
public struct Company: Sendable {
    /// The name as people know it.
    public let name: String
    /// The services that the adapters call.
    public let services: [ExternalService]
    public let signIn: SignInOffer?
    public let push: PushOffer?

    init(name: String, services: [ExternalService], signIn: SignInOffer? = nil, push: PushOffer? = nil) {
        self.name = name
        self.services = services
        self.signIn = signIn
        self.push = push
    }

    /// All companies.
    public static let all: [Company] = [.google, .dropbox, .microsoft, .facebook, .apple, .amazon, .webDAV, .s3]

    /// The services of all companies.
    public static let services = all.flatMap(\.services)
    /// The ways to sign in, of all companies.
    public static let signIns = all.compactMap(\.signIn)
    /// The ways to send notifications, of all companies.
    public static let pushes = all.compactMap(\.push)
}
