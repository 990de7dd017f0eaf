/// A service of a company, under the name by which its calls are counted and limited.
///
/// Its hosts also decide whether an address that the service returns for an upload or a download is accepted.
public struct ExternalService: Sendable {
    /// The value of the label `provider` in metrics.
    public let name: String
    /// The service's hosts; an entry that begins with a dot matches every host below it.
    public let hosts: [String]
    /// Hosts that match an entry of ``hosts``, but belong to another service.
    private let otherHosts: Set<String>

    public init(_ name: String, hosts: [String], except otherHosts: Set<String> = []) {
        self.name = name
        self.hosts = hosts
        self.otherHosts = otherHosts
    }

    /// The entry of ``hosts`` that `host` matches, an exact one if possible; `nil` if the host is not the service's.
    public func entry(for host: some StringProtocol) -> String? {
        if otherHosts.contains(String(host)) { return nil }
        return hosts.first { $0 == host } ?? hosts.first { $0.hasPrefix(".") && host.hasSuffix($0) }
    }

    /// Whether `url`, which this service returned for an upload or a download, may be opened.
    public func owns(_ url: String) -> Bool {
        HTTPSAddress(url).map { entry(for: $0.host) != nil } ?? false
    }
}

extension ExternalService: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ExternalService: CustomStringConvertible {
    public var description: String { name }
}

/// The labels under which a request to an external service is counted, chosen by the adapter that makes it.
public struct ProviderCall: Hashable, Sendable {
    /// What is requested.
    public enum Operation: String, Sendable, CaseIterable {
        /// The owner of a token, or the keys to verify it.
        case identity
        /// New tokens for an authorization code or for another token, or for the server itself.
        case token
        /// A new access token for a refresh token.
        case refresh
        /// Revoking a person's grant.
        case revoke
        /// Looking up, listing, creating folders.
        case metadata
        case download
        case upload
        case delete
        case push
    }

    /// The service.
    public var service: ExternalService
    public var operation: Operation

    public init(_ service: ExternalService, _ operation: Operation) {
        self.service = service
        self.operation = operation
    }
}
