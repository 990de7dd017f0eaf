public import Providers

extension CloudStorageError {
    /// What a failed renewal of an access token means for the operation that needed it.
    ///
    /// Only the provider's own word makes a permission count as gone; a provider that cannot be asked, or that refuses
    /// us rather than the person, does not.
    public init(ofRenewal error: AccountError) {
        self =
            switch error {
            case .revoked, .rejected, .codeRejected, .scopeMissing: .authorizationRevoked
            case .unavailable(let detail), .notAsked(let detail): .unavailable(detail: "token endpoint: \(detail)")
            case .withheld(let reason): .withheld(reason)
            case .timedOut: .timedOut
            case .misconfigured(let detail): .rejected(code: detail)
            }
    }
}
