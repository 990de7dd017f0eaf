import Providers

/// Asks providers about the tokens that callers of one network present.
struct SignInVerification: Sendable {
    let cache: SignInCache
    let failedSignIns: FailedSignIns
    let network: ClientNetwork

    /// Asks the provider, unless the network has caused too many failures, or somebody else is already asking.
    /// - Throws: ``EndpointError/tooManyFailedSignIns(retryAfter:)``, ``AccountError``.
    func run(
        of presented: PresentedCredentials, by account: any AccountProvider, through client: AccountClient
    ) throws -> SignInProfile {
        try cache.profile(for: presented) {
            if let delay = failedSignIns.take(from: network) {
                throw EndpointError.tooManyFailedSignIns(retryAfter: delay)
            }
            do throws(AccountError) {
                let profile = try account.verify(presented, through: client)
                guard profile.isPlausible else { throw .unavailable(detail: "an identifier that cannot be kept") }
                failedSignIns.refund(to: network)
                return profile
            } catch {
                // Whoever tries one address after the other is slowed down like one who tries tokens.
                if error != .rejected && error != .serverNotAllowed { failedSignIns.refund(to: network) }
                throw error
            }
        }
    }
}
