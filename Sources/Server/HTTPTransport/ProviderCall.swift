/// A request to an external service in the few words under which it is counted; the adapter that makes it says so.
public struct ProviderCall: Hashable, Sendable {
    /// What is requested.
    public enum Operation: String, Sendable, CaseIterable {
        /// Who a token belongs to, or the keys to verify that.
        case identity
        /// New tokens for an authorization code or for another token, or for the server itself.
        case token
        /// A new access token for a refresh token.
        case refresh
        /// The end of what a person has granted.
        case revoke
        /// Looking up, listing, creating folders.
        case metadata
        case download
        case upload
        case delete
        case push
    }

    /// Whose service it is.
    public var service: ExternalService
    public var operation: Operation

    public init(_ service: ExternalService, _ operation: Operation) {
        self.service = service
        self.operation = operation
    }
}
