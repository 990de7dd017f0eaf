public import HTTPTransport

/// A company whose services the server uses. Each has a folder with its description and its adapters; ``all`` is the
/// only list of companies.
public struct Company: Sendable {
    /// The name that people know it by.
    public let name: String
    /// The services that the adapters call.
    public let services: [ExternalService]

    /// All companies.
    public static let all: [Company] = [.google, .dropbox, .microsoft, .facebook, .apple, .amazon]

    /// The services of all companies.
    public static let services = all.flatMap(\.services)
}
