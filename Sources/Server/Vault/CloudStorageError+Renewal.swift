public import Providers

extension CloudStorageError {
    /// What a failed renewal of an access token means for the operation that needed it.
    ///
    /// An authorization counts as revoked only if the provider says so; not if the provider is unavailable, or if it
    /// rejects us rather than the person.
    public init(ofRenewal error: AccountError) {
        self =
            switch error {
            case .revoked, .rejected, .codeRejected, .scopeMissing: .authorizationRevoked
            case .unavailable(let detail), .notAsked(let detail): .unavailable(detail: "token endpoint: \(detail)")
            case .withheld(let reason): .withheld(reason)
            case .timedOut: .timedOut
            case .misconfigured(let detail): .misconfigured(detail: detail)
            case .storageMissing(let detail), .malformedDetails(let detail):
                .rejected(code: detail)
            case .serverNotAllowed: .serverNotAllowed
            }
    }
}
