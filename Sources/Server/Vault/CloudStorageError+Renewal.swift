public import Providers

extension CloudStorageError {
    /// The meaning of a failed renewal of an access token for the operation that needed it.
    ///
    /// An authorization counts as revoked only if the provider reports that; not if the provider is unavailable, or if
    /// it rejects us rather than the person.
    public init(ofRenewal error: AccountError) {
        self =
            switch error {
            case .revoked, .rejected, .keyRejected, .codeRejected, .scopeMissing: .authorizationRevoked
            case .storageUnusable(.full): .quotaExceeded
            case .unavailable(let detail), .notAsked(_, let detail): .unavailable(detail: "token endpoint: \(detail)")
            case .addressDoubtful(let error): CloudStorageError(ofRenewal: error)
            case .withheld(let reason): .withheld(reason)
            case .timedOut: .timedOut
            case .misconfigured(let detail): .misconfigured(detail: detail)
            case .storageMissing(let detail), .malformedDetails(let detail), .rightMissing(let detail):
                .rejected(code: detail)
            case .serverNotAllowed: .serverNotAllowed
            case .storageUnusable(.termsNotAccepted): .termsNotAccepted
            case .anyPasswordAccepted, .storageUnusable: .rejected(code: "\(error)")
            }
    }
}
