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
